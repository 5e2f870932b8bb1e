/** Getting a permit: arguments checked, belief checked before and after. */
import { ConfigurationError } from '../errors.ts';
import { durationMs } from '../lease/duration.ts';
import { validName } from '../lease/name.ts';
import type { WaitOptions } from '../lease/waiting.ts';
import { Waiting } from '../lease/waiting.ts';
import type { SessionHolder } from '../session/holder.ts';
import type { Admission, Full, Request, SemaphorePorts } from './contender.ts';
import { Contender } from './contender.ts';
import { PermitBook } from './permit-book.ts';
import { Permit } from './permit.ts';
import { describeSemaphore, validLimit, validPermits } from './semaphore.ts';

export interface PermitOptions {
  /** How many permits there are; all contenders declare the same. */
  readonly limit: number;
  /** How many of them this one takes; 1 when absent. */
  readonly permits?: number | undefined;
}

export interface PermitWaitOptions extends PermitOptions, WaitOptions {
  /** Stands in a queue, first come first served; needs `wait`. Absent: whoever looks when there is room. */
  readonly fair?: boolean | undefined;
}

/** `full`: who holds, and when the next of them may be found dead. */
export type Acquisition = { readonly kind: 'acquired'; readonly permit: Permit } | Full;

/**
 * One try, without waiting.
 * @throws MismatchError when other contenders declare another limit
 * @throws ConfigurationError when an argument is not usable
 */
export async function tryAcquirePermit(
  name: string,
  options: PermitOptions,
  session: SessionHolder,
  ports: SemaphorePorts,
): Promise<Acquisition> {
  return acquire({ ...request(name, options, session, ports), queueUntil: undefined }, session, ports, (contender) =>
    contender.ask(),
  );
}

/**
 * Waits until there is room; `full` when the time is over.
 * @throws LeaseLostError when the session is lost meanwhile
 * @throws the reason of `signal`; and as `tryAcquirePermit`
 */
export async function acquirePermit(
  name: string,
  options: PermitWaitOptions,
  session: SessionHolder,
  ports: SemaphorePorts,
): Promise<Acquisition> {
  const queueUntil = options.fair === true ? queueingEnds(name, options, ports) : undefined;
  const asked = { ...request(name, options, session, ports), queueUntil };
  return acquire(asked, session, ports, async (contender) => {
    const waiting = new Waiting(options, session.signal, ports.runtime);
    try {
      if (ports.line !== undefined) await waiting.standInLine(ports.line, name);
      let admission = await contender.ask();
      while (admission.kind === 'full' && (await waiting.pause(admission.until))) {
        session.ensureBelief();
        admission = await contender.lookAgain();
      }
      return admission;
    } finally {
      waiting.end();
    }
  });
}

async function acquire(
  asked: Request,
  session: SessionHolder,
  ports: SemaphorePorts,
  contend: (contender: Contender) => Promise<Admission>,
): Promise<Acquisition> {
  const book = PermitBook.of(session);
  const contender = new Contender(asked, session, ports);
  const close = (): void => book.close(asked.claim.since);
  try {
    const admission = await contend(contender);
    // The answer may have taken longer than the session could be believed in.
    session.ensureBelief();
    if (admission.kind === 'admitted')
      return { kind: 'acquired', permit: new Permit(asked.semaphore.name, admission.permit, session, ports, close) };
    await contender.giveUp();
    close();
    return admission;
  } catch (error) {
    close();
    await contender.giveUp();
    throw error;
  }
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
  const since = PermitBook.of(session).open(runtime.clock.now());
  return { semaphore: { name, limit }, claim: { session: session.id, since, permits } };
}

function queueingEnds(name: string, { wait }: PermitWaitOptions, { runtime }: SemaphorePorts): number {
  if (wait === undefined)
    throw new ConfigurationError(
      `${describeSemaphore(name)}: fair without wait: a place in the queue must end, give the longest time to wait`,
    );
  return runtime.clock.now() + durationMs('wait', wait);
}
