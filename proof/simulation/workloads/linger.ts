/**
 * Long-lived users: one process, several sessions that live as long as it does, and concurrent callers who alternate for years.
 * They release each lock or permit once; the library must settle the remains of a lost response.
 */
import { defined } from '../../../shared/core/defined.ts';
import { lockKey } from '../../../shared/dynamo/engine/keys.ts';
import { electionKey } from '../../../shared/coordination/election/election.ts';
import { LeaseLostError, MismatchError, StoreUnavailableError } from '../../../shared/core/errors.ts';
import { LockClient } from '../../../shared/coordination/lock/lock-client.ts';
import { LockUnavailableError } from '../../../shared/coordination/lock/lock-record.ts';
import { WaiterQueue } from '../../../shared/core/wait/waiter-queue.ts';
import { RateLimiter } from '../../../shared/coordination/ratelimit/rate-limiter.ts';
import { SemaphoreFullError } from '../../../shared/coordination/semaphore/semaphore-contender.ts';
import type { SessionPorts } from '../../../shared/client/session.ts';
import { Session } from '../../../shared/client/session.ts';
import type { SessionHolder } from '../../../shared/session/keep-alive.ts';
import { WaitGroup } from '../../../shared/coordination/waitgroup/group.ts';
import { wasAborted } from '../../../test/support/machines/abort-signal.ts';
import type { Prng } from '../../../test/support/machines/prng.ts';
import type { Asks } from '../asks.ts';
import type { RightName } from '../history.ts';
import { BUCKET } from '../invariants/ratelimits.ts';
import { holdersOf } from '../invariants/semaphores.ts';
import { semaphoreRow } from '../observed-coordination.ts';
import { TABLE_NAME } from '../rows.ts';
import { tellTaken } from './coordination.ts';
import { LOCK_KEYS } from './locks.ts';
import type { WorkerPlace } from './worker-place.ts';
import { openSession, storesAt } from './worker-place.ts';

/** This name distinguishes users' sessions from workers' sessions. */
export const USERS_SESSION = 'user';

const SEMAPHORES = [
  { name: 'lasting', limit: 3, fair: false },
  { name: 'turns', limit: 1, fair: true },
] as const;
const ELECTION = 'chief';
/** A wait that ends so much before its time has not ended by it. */
const EARLY_MS = 10_000;

interface Lingering {
  readonly asks: Asks;
  /** Whether the world has called time. */
  readonly isOver: () => boolean;
}

interface User extends Lingering {
  readonly place: WorkerPlace;
  readonly prng: Prng;
  readonly session: Session;
  readonly holder: SessionHolder;
  readonly locks: LockClient;
  readonly rates: RateLimiter;
  readonly openGroup: (name: string) => Promise<WaitGroup>;
  readonly nextName: () => string;
}

type Held = { readonly token: number; readonly signal: AbortSignal; readonly release: () => Promise<unknown> };

/** The waiter queues of one process's callers. */
type Lines = Pick<SessionPorts, 'turns' | 'line'>;

/** @returns how the invocation ended */
export async function linger(place: WorkerPlace, lingering: Lingering): Promise<string> {
  const { clock } = place.process.runtime;
  const lines: Lines = { turns: new WaiterQueue(clock), line: new WaiterQueue(clock) };
  const users = Array.from({ length: place.profile.users }, (_, user) => stay(place, lingering, lines, user));
  const ended = await Promise.all(users);
  return ended[0] ?? 'lingered';
}

/** One caller after the other under one session; a new session when it is lost. */
async function stay(place: WorkerPlace, lingering: Lingering, lines: Lines, number: number): Promise<string> {
  const { process, profile, seen } = place;
  const { runtime } = process;
  const { maxClockSkewMs } = profile;
  const prng = place.prng.fork(`user ${number}`);
  const endsAt = runtime.clock.monotonic() + 0.7 * profile.invocationMs;
  const isOver = (): boolean => lingering.isOver() || runtime.clock.monotonic() >= endsAt;
  let names = 0;
  while (!isOver()) {
    const stores = storesAt(place);
    const ports = { ...stores, runtime, gauge: place.gauge };
    let holder: SessionHolder;
    try {
      holder = await openSession(place, stores.sessions, { name: USERS_SESSION });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      await runtime.clock.sleep(1_000);
      continue;
    }
    const { name: bucket, ...rate } = BUCKET;
    const user: User = {
      ...lingering,
      place,
      prng,
      holder,
      session: new Session(holder, { ...ports, table: TABLE_NAME, ...lines }),
      locks: new LockClient(ports, maxClockSkewMs),
      rates: new RateLimiter(bucket, rate, ports, { maxClockSkewMs }),
      openGroup: (name) => WaitGroup.open(name, ports, { maxClockSkewMs }),
      nextName: () => `${process.name}-${number}-${++names}`,
    };
    await useFor(user, isOver);
    seen('user: session over');
    await user.session.end();
  }
  return 'lingered';
}

async function useFor(user: User, isOver: () => boolean): Promise<void> {
  const { place, prng, holder } = user;
  const acts = [useLock, useLock, usePermit, usePermit, lead, takeTokens, gather, force];
  while (!isOver() && holder.remainingTrustMs() > 0) {
    await place.process.runtime.clock.sleep(prng.exponential(place.profile.thinkMs));
    try {
      await prng.pick(acts)(user);
    } catch (error) {
      if (error instanceof LeaseLostError) place.seen('user: right lost');
      else if (error instanceof StoreUnavailableError) place.seen('user: the store did not answer');
      // Its group was complete without it: the session to which its members were leased was lost.
      else if (error instanceof MismatchError) place.seen('user: refused');
      else throw error;
    }
  }
}

async function useLock(user: User): Promise<void> {
  const { session, prng, place } = user;
  // Many keys as well: a caller does not meet again a key that its own lost response left held.
  const key = place.profile.lone || prng.chance(0.5) ? prng.pick(LOCK_KEYS) : `key-${prng.integer(1, 40)}`;
  const row = lockKey(key).pk;
  if (prng.chance(0.4)) {
    const acquisition = await session.tryLock(key);
    place.seen(`user: lock ${acquisition.kind}`);
    if (acquisition.kind !== 'acquired') return;
    await hold(user, row, heldOf(acquisition.lock));
    return;
  }
  const lock = await waitFor(user, { kind: 'lock', row, permits: 1, fair: false }, (wait, signal) =>
    session.lock(key, { wait, ...signal }),
  );
  if (lock !== undefined) await hold(user, row, heldOf(lock));
}

async function lead(user: User): Promise<void> {
  const { session, prng, place } = user;
  const row = lockKey(electionKey(ELECTION)).pk;
  const leadership = await waitFor(user, { kind: 'lock', row, permits: 1, fair: false }, (wait, signal) =>
    session.campaign(ELECTION, { wait, ...signal }),
  );
  if (leadership === undefined) return;
  place.seen('user: elected');
  await hold(user, row, {
    token: leadership.term,
    signal: leadership.signal,
    release: async () => {
      try {
        if (prng.chance(0.3)) await leadership.proclaim(place.process.name);
      } finally {
        await leadership.resign();
      }
    },
  });
}

async function usePermit(user: User): Promise<void> {
  const { session, prng } = user;
  const { name, limit, fair } = prng.pick(SEMAPHORES);
  const permits = prng.chance(0.3) ? limit : 1;
  const row = semaphoreRow(name);
  const permit = await waitFor(user, { kind: 'permit', row, permits, fair }, (wait, signal) =>
    session.permit(name, { limit, permits, fair, wait, ...signal }),
  );
  if (permit === undefined) return;
  const { fencingToken: token, signal } = permit;
  await hold(user, row, { token, signal, release: () => permit.release() });
}

async function takeTokens(user: User): Promise<void> {
  const { rates, place } = user;
  const { process, recorder } = place;
  const wait = 60_000;
  const tokens = 2;
  await outlasting(user, wait, async () => {
    const askedAt = process.now;
    const { kind } = await rates.take('lasting', { tokens, wait });
    place.seen(`user: tokens ${kind}`);
    if (kind === 'taken') tellTaken(process, recorder, { key: 'lasting', tokens, askedAt });
  });
}

/** A group of its own, whose members it ends itself: the wait for them must end as well. */
async function gather(user: User): Promise<void> {
  const { place, holder, nextName, openGroup } = user;
  const name = nextName();
  const insist = <T>(act: () => Promise<T>): Promise<T> => insisting(user, act);
  const group = await insist(() => openGroup(name));
  await insist(() => group.add(['a', 'b'], { session: holder, seal: true }));
  for (const id of ['a', 'b']) await insist(() => group.done(id));
  const wait = 120_000;
  const outcome = await outlasting(user, wait, () => group.wait({ wait }));
  place.seen(`user: group ${outcome?.kind ?? 'not answered'}`);
  if (outcome?.kind === 'pending')
    place.violated('L13', `the wait for group ${name} did not end, and all of its members have`);
}

/** An operator takes a key away. */
async function force({ locks, prng, place }: User): Promise<void> {
  if (!place.profile.operator) return;
  const key = prng.pick(LOCK_KEYS);
  const info = await locks.get(key);
  if (info?.holder === undefined) return;
  const { kind } = await locks.forceRelease(key, {
    by: place.process.name,
    reason: 'simulated',
    leaseCounter: info.leaseCounter,
  });
  place.seen(`user: lock forced: ${kind}`);
}

/** Waits, recorded. Some callers give up early. Undefined: the wait ended without a result. */
async function waitFor<T>(
  user: User,
  what: { readonly kind: 'lock' | 'permit'; readonly row: string; readonly permits: number; readonly fair: boolean },
  ask: (wait: number, signal: { readonly signal?: AbortSignal }) => Promise<T>,
): Promise<T | undefined> {
  const { asks, place, holder, prng } = user;
  const { process, seen } = place;
  const wait = Math.round(prng.logarithmic(2_000, 120_000));
  const patience = prng.chance(place.profile.lone ? 0.4 : 0.2) ? new AbortController() : undefined;
  const answered = new AbortController();
  // Often before the first response.
  const givesUpAfter = (): number => (place.profile.lone ? prng.logarithmic(1, wait) : prng.between(10, wait));
  if (patience !== undefined)
    void process.runtime.clock.sleep(givesUpAfter(), answered.signal).then(() => {
      patience.abort(new GaveUp());
    });
  const end = asks.begin({ ...what, session: holder.id, process });
  try {
    return await outlasting(user, wait, () => ask(wait, defined({ signal: patience?.signal })));
  } catch (error) {
    if (error instanceof LockUnavailableError || error instanceof SemaphoreFullError) {
      seen('user: waited in vain');
      ensureNothingIsHeld(user, what.row);
    } else if (error instanceof GaveUp) seen('user: gave up');
    else if (error instanceof MismatchError) seen('user: refused');
    else throw error;
    return undefined;
  } finally {
    end();
    answered.abort();
  }
}

/** I0: a caller whose response says that nothing is held holds nothing; an attempt without a response is reported as such. */
function ensureNothingIsHeld({ place, holder }: User, row: string): void {
  const item = place.recorder.rows.get(row);
  const permits = holdersOf(item).filter(
    ({ session, closedUntil }) => session === holder.id && closedUntil === undefined,
  );
  if (!place.process.isAlive || (item?.session !== holder.id && permits.length === 0)) return;
  const isByCopy =
    permits.length > 0 && permits.every(({ token }) => place.recorder.takenByCopies.has(`${row} ${token}`));
  place.violated(
    'I0',
    `session ${holder.id} was told that it holds nothing, and holds ${row}${isByCopy ? '; a second delivery took it' : ''}`,
  );
}

class GaveUp extends Error {}

/** L17: a wait does not end by an outage that is shorter than it. */
async function outlasting<T>(user: User, waitMs: number, wait: () => Promise<T>): Promise<T | undefined> {
  const { process, violated } = user.place;
  const askedAt = process.now;
  try {
    return await wait();
  } catch (error) {
    const leftMs = waitMs - (process.now - askedAt);
    if (error instanceof StoreUnavailableError && leftMs > EARLY_MS)
      violated('L17', `a wait ended ${leftMs.toFixed(0)} ms before its time: ${error.message}`);
    throw error;
  }
}

/** Repeats a harmless operation until it gets a response. */
async function insisting<T>({ place, holder }: User, act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      holder.ensureTrusted();
      await place.process.runtime.clock.sleep(500);
    }
  }
}

function heldOf(lock: {
  readonly fencingToken: number;
  readonly signal: AbortSignal;
  release(): Promise<unknown>;
}): Held {
  return { token: lock.fencingToken, signal: lock.signal, release: () => lock.release() };
}

/** Believes, works, and releases once. */
async function hold({ place, holder, prng }: User, row: string, { token, signal, release }: Held): Promise<void> {
  const { process, recorder } = place;
  const right: RightName = { row, token, session: holder.id };
  const isBelieved = (): boolean => !wasAborted(signal) && process.quietly(() => holder.remainingTrustMs() > 0);
  const endBelief = recorder.believes(process, right, isBelieved);
  try {
    await process.runtime.clock.sleep(prng.logarithmic(10, 8_000), signal);
    if (!signal.aborted) recorder.acted(process, right);
    endBelief();
    await release();
  } finally {
    endBelief();
  }
}
