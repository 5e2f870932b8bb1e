/** Acquires permits: checks the arguments, and checks the session's trust before and after. */
import { ConfigurationError, StoreUnavailableError } from '../../core/errors.ts';
import { durationMs } from '../../core/validate/duration.ts';
import { validName } from '../../core/validate/name.ts';
import { validOptions } from '../../core/validate/options.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import { WAIT_OPTIONS, waitFor as wait } from '../../core/wait/wait.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { Admission, Full, Request, SemaphorePorts } from './semaphore-contender.ts';
import { SemaphoreContender } from './semaphore-contender.ts';
import { giveBackPermit } from './give-back.ts';
import { settleLater, settleNow } from './unresolved-semaphores.ts';
import { PermitBook } from './permit-book.ts';
import { Permit } from './permit.ts';
import type { PermitRecord } from './semaphore.ts';
import { describeSemaphore, validLimit, validPermits } from './semaphore.ts';

export interface PermitOptions {
  /** Total number of permits. All contenders must declare the same number. */
  readonly limit: number;
  /** Number of permits to take. Default: 1. */
  readonly permits?: number | undefined;
}

export interface PermitWaitOptions extends PermitOptions, WaitOptions {
  /** Waits in a queue, first come first served. Requires `wait`. Default: admitted if a poll finds free capacity. */
  readonly fair?: boolean | undefined;
}

/** A waiting contender costs a read a second on average, and notices a release within two seconds. */
export const PAUSES = { firstMs: 125, longestMs: 2_000, spreadMs: 100 };

const PERMIT_OPTIONS = ['limit', 'permits'] as const;

/** `full`: the holders, and when the next of them may expire. */
export type PermitAcquisition = { readonly kind: 'acquired'; readonly permit: Permit } | Full;

/**
 * Tries once, without waiting.
 * @throws MismatchError when other contenders declare another limit
 * @throws ConfigurationError when an argument is invalid
 */
export async function tryAcquirePermit(
  name: string,
  options: PermitOptions,
  session: SessionHolder,
  ports: SemaphorePorts,
): Promise<PermitAcquisition> {
  validOptions('the options of a permit', options, PERMIT_OPTIONS);
  const asked = { ...request(name, options, session, ports), queueUntil: undefined };
  return acquire(asked, session, ports, (contender) => contender.ask(), granting(name, session, ports));
}

/**
 * Waits for free capacity; returns `full` if the wait ends first.
 * @throws LeaseLostError if the session is lost during the wait
 * @throws the reason of `signal`; and as `tryAcquirePermit`
 */
export async function acquirePermit(
  name: string,
  options: PermitWaitOptions,
  session: SessionHolder,
  ports: SemaphorePorts,
): Promise<PermitAcquisition> {
  validOptions('the options of a permit', options, [...PERMIT_OPTIONS, ...WAIT_OPTIONS, 'fair']);
  return waitFor(name, options, session, ports, granting(name, session, ports));
}

/** Like `acquirePermit`, for callers that only need to release the permit later. */
export async function acquireSlot(
  name: string,
  options: Omit<PermitWaitOptions, 'fair'>,
  session: SessionHolder,
  ports: SemaphorePorts,
): Promise<Admission> {
  return waitFor(name, options, session, ports, (permit) => ({ kind: 'admitted', permit }));
}

/** Turns a permit into the caller's result. The result calls `close` when this process no longer wants to keep the permit. */
type Grant<Granted> = (permit: PermitRecord, close: () => void) => Granted;

function granting(name: string, session: SessionHolder, ports: SemaphorePorts): Grant<PermitAcquisition> {
  return (permit, close) => ({ kind: 'acquired', permit: new Permit(name, permit, session, ports, close) });
}

async function waitFor<Granted>(
  name: string,
  options: PermitWaitOptions,
  session: SessionHolder,
  ports: SemaphorePorts,
  grant: Grant<Granted>,
): Promise<Granted | Full> {
  const queueUntil = options.fair === true ? queueingEnds(name, options, ports) : undefined;
  const asked = { ...request(name, options, session, ports), queueUntil };
  const { claim, semaphore } = asked;
  // Requests of different sizes wait for different amounts of capacity, and a fair request must not wait behind an unfair one.
  const kind = JSON.stringify([claim.permits, semaphore.limit, options.fair === true]);
  const line = ports.line && { turns: ports.line, key: name, kind };
  const contend = async (contender: SemaphoreContender): Promise<Admission> => {
    const waited = await wait<Admission, Full>(
      async ({ polls }) => {
        const admission = await (polls === 0 ? contender.ask() : contender.pollAgain());
        if (admission.kind === 'admitted') return { kind: 'found', found: admission };
        const until = Math.min(admission.until ?? Infinity, contender.turnAt ?? Infinity);
        return { kind: 'blocked', by: admission, until: Number.isFinite(until) ? until : null };
      },
      { options, pauses: PAUSES, session, line },
      ports.runtime,
    );
    return waited.kind === 'found' ? waited.found : waited.by;
  };
  return acquire(asked, session, ports, contend, grant);
}

async function acquire<Granted>(
  asked: Request,
  session: SessionHolder,
  ports: SemaphorePorts,
  contend: (contender: SemaphoreContender) => Promise<Admission>,
  grant: Grant<Granted>,
): Promise<Granted | Full> {
  const book = PermitBook.of(session);
  const contender = new SemaphoreContender(asked, session, ports);
  const close = (): void => book.close(asked.semaphore.name, asked.claim.since);
  try {
    const admission = await contend(contender);
    // The session's trust may have ended before the response arrived.
    session.ensureTrusted();
    if (admission.kind === 'admitted') return grant(admission.permit, close);
    const late = await contender.leave();
    if (late !== undefined) return grant(late, close);
    close();
    await settleNow(asked.semaphore, session, ports);
    return admission;
  } catch (error) {
    close();
    // If the store does not respond, the session settles it later, so the caller does not wait for the store again.
    const isStoreOut = error instanceof StoreUnavailableError;
    if (isStoreOut || !(await abandon(asked, contender, session, ports))) settleLater(asked.semaphore, session, ports);
    throw isStoreOut && error.applied === 'no' ? undecided(asked.semaphore.name, error) : error;
  }
}

/** @returns whether it is certain that the request holds nothing and will never be granted */
async function abandon(asked: Request, contender: SemaphoreContender, session: SessionHolder, ports: SemaphorePorts) {
  try {
    const late = await contender.leave();
    if (late !== undefined) await giveBackPermit(asked.semaphore.name, late, PermitBook.of(session).left, ports);
    return true;
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return false;
  }
}

function undecided(name: string, cause?: unknown): StoreUnavailableError {
  return new StoreUnavailableError(
    `${describeSemaphore(name)}: unknown whether a permit was or will be taken, because a response was lost; this ` +
      'session gives it back with its coming heartbeats, try again then',
    { applied: 'unknown', cause },
  );
}

function request(
  name: string,
  options: PermitOptions,
  session: SessionHolder,
  { runtime }: SemaphorePorts,
): Pick<Request, 'semaphore' | 'claim'> {
  const what = describeSemaphore(validName('semaphore', name));
  const limit = validLimit(what, options.limit);
  const permits = validPermits(what, options.permits ?? 1, limit);
  const since = PermitBook.of(session).open(name, runtime.clock.now());
  return { semaphore: { name, limit }, claim: { session: session.id, since, permits } };
}

function queueingEnds(name: string, { wait }: PermitWaitOptions, { runtime }: SemaphorePorts): number {
  if (wait === undefined)
    throw new ConfigurationError(`${describeSemaphore(name)}: fair requires wait, the longest time in the queue`);
  return runtime.clock.now() + durationMs('wait', wait);
}
