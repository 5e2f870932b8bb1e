/** Acquires permits: checks the arguments, and checks the session's trust before and after. */
import { ConfigurationError, MismatchError, StoreUnavailableError } from '../../core/errors.ts';
import { PERMITS_PER_PART, partName, queueOfFleet } from '../../core/permit-parts.ts';
import type { Random } from '../../core/runtime/random.ts';
import { durationMs } from '../../core/validate/duration.ts';
import { validName, validOptions } from '../../core/validate/options.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import { WAIT_OPTIONS, waitFor as wait } from '../../core/wait/wait.ts';
import { SessionVerdicts } from '../../session/session-verdicts.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { Admission, Full, Request, SemaphorePorts } from './semaphore-contender.ts';
import { SemaphoreContender, full } from './semaphore-contender.ts';
import { oldestHolders, readParts, wholeOf } from './fleet.ts';
import { giveBackPermit } from './give-back.ts';
import { settleLater, settleNow } from './unresolved-semaphores.ts';
import { PermitBook } from './permit-book.ts';
import { Permit } from './permit.ts';
import type { PermitRecord, SemaphoreRecord } from './semaphore.ts';
import { describeSemaphore, ensureSameLimit, validLimit, validPermits } from './semaphore.ts';

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
  const queue = queueOfFleet(name);
  if (queue !== undefined) return tryFleetPermit(queue, options, session, ports);
  return tryOnce(name, options, session, ports, (contender) => contender.ask());
}

/**
 * Tries to take a permit of a queue's workers, which are dealt over parts: at random among those with free capacity, so that workers that
 * start at the same time rarely meet. If no part has any, it judges the sessions of the oldest permits, because the permit of a crashed
 * worker becomes the oldest in time.
 * @param seen the parts, if the caller has just read them
 * @throws as `tryAcquirePermit`, also if nobody has dealt the permits yet
 */
export async function tryFleetPermit(
  queue: string,
  options: PermitOptions,
  session: SessionHolder,
  ports: SemaphorePorts,
  seen?: readonly SemaphoreRecord[],
): Promise<PermitAcquisition> {
  const first = partName(queue, 0);
  const limit = validLimit(describeSemaphore(first), options.limit);
  if (limit <= PERMITS_PER_PART) return tryOnce(first, options, session, ports, (contender) => contender.ask());
  const parts = seen ?? (await readParts({ queue, limit }, ports.semaphores));
  const whole = wholeOf(parts);
  const dealt = parts.filter(({ declared }) => declared === limit);
  if (whole === undefined) throw noPermitsYet(queue);
  if (dealt.length === 0) ensureSameLimit(whole, limit);
  const [open, closed] = [dealt.filter(({ free }) => free > 0), dealt.filter(({ free }) => free <= 0)];
  // After the limit was lowered, parts may have free capacity while more workers than the limit still run.
  const isFull = whole.free <= 0 || open.length === 0;
  for (const part of isFull ? await withDeadHolders(closed, session, ports) : byChance(open, ports.runtime.random)) {
    const tried = await tryOnce(part.name, options, session, ports, (contender) => contender.enter(part), isFull);
    if (tried.kind === 'acquired') return tried;
  }
  return full(whole, null);
}

async function withDeadHolders(
  parts: readonly SemaphoreRecord[],
  session: SessionHolder,
  ports: SemaphorePorts,
): Promise<readonly SemaphoreRecord[]> {
  const oldest = new Set(oldestHolders(parts).map(({ session: id }) => id));
  const verdicts = await new SessionVerdicts(ports, session.timing.maxClockSkewMs).judge(oldest);
  return parts.filter(({ holders }) => holders.some(({ session: id }) => verdicts.get(id)?.kind === 'free'));
}

/** Returns the parts in a random order, in which those with more free permits tend to come first. */
function byChance(parts: readonly SemaphoreRecord[], random: Random): readonly SemaphoreRecord[] {
  return parts
    .map((part) => ({ part, draw: random.next() ** (1 / part.free) }))
    .toSorted((one, other) => other.draw - one.draw)
    .map(({ part }) => part);
}

function noPermitsYet(queue: string): MismatchError {
  const what = describeSemaphore(partName(queue, 0));
  return new MismatchError(what, `${what} has no permits yet: the queue's next tick or wake deals them`);
}

function tryOnce(
  name: string,
  options: PermitOptions,
  session: SessionHolder,
  ports: SemaphorePorts,
  contend: (contender: SemaphoreContender) => Promise<Admission>,
  mayJudge = true,
): Promise<PermitAcquisition> {
  const asked = { ...request(name, options, session, ports), queueUntil: undefined, mayJudge };
  return acquire(asked, session, ports, contend, granting(name, session, ports));
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
  const { permits: asked = 1 } = options;
  const permits = validPermits(what, asked, limit);
  const since = PermitBook.of(session).open(name, runtime.clock.now());
  return { semaphore: { name, limit }, claim: { session: session.id, since, permits } };
}

function queueingEnds(name: string, { wait }: PermitWaitOptions, { runtime }: SemaphorePorts): number {
  if (wait === undefined)
    throw new ConfigurationError(`${describeSemaphore(name)}: fair requires wait, the longest time in the queue`);
  return runtime.clock.now() + durationMs('wait', wait);
}
