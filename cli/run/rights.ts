/**
 * The leases of a command: a lock, a leadership, a permit, all in one session.
 * They are always acquired in this order, so that two commands that need the same ones cannot deadlock.
 */
import { formatSequencer } from '../../shared/core/lease/sequencer.ts';
import { LockUnavailableError, describeRefusal } from '../../shared/coordination/lock/lock-record.ts';
import type { Session } from '../../shared/client/session.ts';
import type { CliConnection } from '../connection.ts';
import { CommandError, EXIT } from '../exit.ts';
import { moment, span } from '../output.ts';

export interface Wanted {
  readonly lock: string | undefined;
  readonly leader: string | undefined;
  readonly semaphore: SemaphoreWanted | undefined;
}

export interface SemaphoreWanted {
  readonly name: string;
  readonly limit: number;
}

/** A held lease. */
export interface Right {
  readonly what: string;
  readonly fencingToken: number;
  readonly sequencer: string;
  /** Aborts when the lease can no longer be trusted. */
  readonly signal: AbortSignal;
  /** Releases it, so that the next contender acquires it with one request. If this fails, the session's end releases it. */
  release(): Promise<unknown>;
}

interface Patience {
  /** 0: one try. */
  readonly waitMs: number;
  /** Ends the waiting by throwing its reason. */
  readonly signal: AbortSignal;
}

/**
 * Acquires all wanted leases. After a refusal, the caller ends the session, which releases those acquired so far.
 * @throws CommandError (not acquired) naming the holder; the reason of the signal; LeaseLostError
 */
export async function acquireRights(
  wanted: Wanted,
  session: Session,
  connection: CliConnection,
  { waitMs, signal }: Patience,
): Promise<readonly Right[]> {
  const { clock } = connection.runtime;
  const deadline = clock.monotonic() + waitMs;
  const patience = (): Patience => ({ waitMs: Math.max(0, deadline - clock.monotonic()), signal });
  const rights: Right[] = [];
  if (wanted.lock !== undefined) rights.push(await acquireLock(wanted.lock, session, patience()));
  if (wanted.leader !== undefined) rights.push(await acquireLeadership(wanted.leader, session, patience()));
  if (wanted.semaphore !== undefined)
    rights.push(await acquirePermit(wanted.semaphore, session, connection, patience()));
  signal.throwIfAborted();
  return rights;
}

async function acquireLock(key: string, session: Session, patience: Patience): Promise<Right> {
  const lock = await orRefused(() => session.lock(key, waitOptions(patience)), patience);
  const { fencingToken, sequencer, signal } = lock;
  return { what: `lock ${key}`, fencingToken, sequencer, signal, release: () => lock.release() };
}

async function acquireLeadership(name: string, session: Session, patience: Patience): Promise<Right> {
  const value = session.record.node;
  const leadership = await orRefused(() => session.campaign(name, { value, ...waitOptions(patience) }), patience);
  const { fencingToken, sequencer, signal } = leadership;
  return { what: `leader ${name}`, fencingToken, sequencer, signal, release: () => leadership.resign() };
}

async function acquirePermit(
  { name, limit }: SemaphoreWanted,
  session: Session,
  { semaphores, table }: CliConnection,
  patience: Patience,
): Promise<Right> {
  const acquisition = await semaphores.acquire(session.holder, name, { limit, ...waitOptions(patience) });
  if (acquisition.kind === 'full') {
    const next =
      acquisition.until === null ? '' : `; a holder that has crashed loses its permit at ${moment(acquisition.until)}`;
    throw notAcquired(
      `semaphore ${name} is full (${acquisition.inUse} of ${acquisition.limit} in use)${next}`,
      patience,
    );
  }
  const { permit } = acquisition;
  const { fencingToken, signal } = permit;
  const sequencer = formatSequencer({
    table,
    kind: 'semaphore',
    key: name,
    leaseCounter: fencingToken,
    session: session.id,
  });
  return { what: `semaphore ${name}`, fencingToken, sequencer, signal, release: () => permit.release() };
}

async function orRefused<T>(acquire: () => Promise<T>, patience: Patience): Promise<T> {
  try {
    return await acquire();
  } catch (error) {
    if (!(error instanceof LockUnavailableError)) throw error;
    throw notAcquired(`${error.refusal.key}: ${describeRefusal(error.refusal)}`, patience);
  }
}

function notAcquired(found: string, { waitMs }: Patience): CommandError {
  const waited = waitMs === 0 ? 'without a wait (see --wait)' : `within ${span(waitMs)}`;
  return new CommandError(EXIT.notAcquired, `not acquired ${waited}: ${found}`);
}

function waitOptions({ waitMs, signal }: Patience) {
  return { wait: waitMs, signal };
}
