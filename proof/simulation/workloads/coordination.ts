/** Users of semaphores, wait groups and rate limits: a session, a little of everything, and an orderly end, or not. */
import { rateLimitKey } from '../../../shared/dynamo/engine/keys.ts';
import { LeaseLostError, MismatchError, StoreUnavailableError } from '../../../shared/core/errors.ts';
import { WaiterQueue } from '../../../shared/core/wait/waiter-queue.ts';
import { RateLimiter } from '../../../shared/coordination/ratelimit/rate-limiter.ts';
import { SemaphoreClient } from '../../../shared/coordination/semaphore/semaphore-client.ts';
import type { Permit } from '../../../shared/coordination/semaphore/permit.ts';
import { SemaphoreFullError } from '../../../shared/coordination/semaphore/semaphore-contender.ts';
import { Session } from '../../../shared/client/session.ts';
import type { SessionHolder } from '../../../shared/session/keep-alive.ts';
import { WaitGroup } from '../../../shared/coordination/waitgroup/group.ts';
import { wasAborted } from '../../../test/support/machines/abort-signal.ts';
import type { RightName } from '../history.ts';
import type { Taking } from '../invariants/ratelimits.ts';
import { BUCKET, BUCKET_KEYS } from '../invariants/ratelimits.ts';
import { groupRow, semaphoreRow } from '../observed-coordination.ts';
import { TABLE_NAME } from '../rows.ts';
import type { WorkerPlace } from './worker-place.ts';
import { openSession, storesAt } from './worker-place.ts';
import { endByForce, hurry } from './force.ts';

/** Name, limit, and whether its contenders queue. Small, so that they are full. */
const SEMAPHORES = [
  { name: 'narrow', limit: 1, fair: false },
  { name: 'wide', limit: 3, fair: false },
  { name: 'queue', limit: 2, fair: true },
] as const;
const LIMITER = { name: 'limiter', options: { limit: 1 } } as const;
const GROUPS = ['fan', 'fold'] as const;
const MEMBERS = ['a', 'b', 'c', 'd', 'e', 'f'] as const;

interface User {
  readonly place: WorkerPlace;
  readonly session: Session;
  readonly holder: SessionHolder;
  readonly semaphores: SemaphoreClient;
  readonly rates: RateLimiter;
  readonly group: (name: string) => Promise<WaitGroup>;
}

/** @returns how the invocation ended */
export async function coordinate(place: WorkerPlace): Promise<string> {
  const { process, profile, prng } = place;
  const { runtime } = process;
  const { maxClockSkewMs } = profile;
  const stores = storesAt(place);
  const holder = await openSession(place, stores.sessions, { name: 'coordinator' });
  const ports = { ...stores, runtime, gauge: place.gauge };
  const { name: bucket, ...rate } = BUCKET;
  const user: User = {
    place,
    holder,
    session: new Session(holder, { ...ports, table: TABLE_NAME, turns: new WaiterQueue(runtime.clock) }),
    semaphores: new SemaphoreClient(ports, { maxClockSkewMs }),
    rates: new RateLimiter(bucket, rate, ports, { maxClockSkewMs }),
    group: (name) => WaitGroup.open(name, ports, { maxClockSkewMs }),
  };
  const endsAt = runtime.clock.monotonic() + 0.7 * profile.invocationMs;
  try {
    while (runtime.clock.monotonic() < endsAt && holder.remainingTrustMs() > 0) {
      await prng.pick([usePermit, usePermit, useLimiter, takeTokens, fanOut, work, waitForAll, operate])(user);
      await runtime.clock.sleep(prng.exponential(120));
    }
    return 'coordinated';
  } catch (error) {
    if (error instanceof LeaseLostError) return 'sessionLost';
    if (error instanceof StoreUnavailableError) return 'storeUnavailable';
    throw error;
  } finally {
    await user.session.end();
  }
}

async function usePermit({ place, session, holder }: User): Promise<void> {
  const { process, profile, prng, recorder, seen } = place;
  const { name, limit, fair } = prng.pick(SEMAPHORES);
  const permits = limit > 1 && prng.chance(0.3) ? 2 : 1;
  let permit: Permit;
  try {
    if (!fair && prng.chance(0.5)) {
      const acquisition = await session.tryPermit(name, { limit, permits });
      seen(`permit ${acquisition.kind}`);
      if (acquisition.kind === 'full') return;
      ({ permit } = acquisition);
    } else {
      const wait = Math.round(prng.between(0, profile.ttlMs));
      permit = await session.permit(name, { limit, permits, fair, wait });
      seen(fair ? 'permit acquired in turn' : 'permit acquired');
    }
  } catch (error) {
    if (error instanceof SemaphoreFullError) seen('permit waited for in vain');
    else if (error instanceof MismatchError) seen('permit refused: another limit is declared');
    else throw error;
    return;
  }
  const right: RightName = { row: semaphoreRow(name), token: permit.fencingToken, session: holder.id };
  const endBelief = recorder.believes(
    process,
    right,
    () => !wasAborted(permit.signal) && process.quietly(() => holder.remainingTrustMs() > 0),
  );
  try {
    await process.runtime.clock.sleep(prng.between(1, 0.4 * profile.ttlMs), permit.signal);
    if (permit.signal.aborted) seen('permit lost');
    else recorder.acted(process, right);
    // A forgotten release is cleaned up by the end of the session.
    if (prng.chance(0.15)) return;
    endBelief();
    const times = prng.chance(0.2) ? 2 : 1;
    for (let time = 0; time < times; time++) await permit.release();
    seen('permit released');
  } finally {
    endBelief();
  }
}

async function useLimiter({ place: { process, prng, seen }, session }: User): Promise<void> {
  const limiter = session.limiter(LIMITER.name, LIMITER.options);
  const id = await limiter.add({ wait: 300 });
  seen(id === undefined ? 'limiter full' : 'limiter entered');
  if (id === undefined) return;
  await process.runtime.clock.sleep(prng.between(1, 100));
  const isRemote = prng.chance(0.5);
  await (isRemote ? session.limiter(LIMITER.name, LIMITER.options) : limiter).done(id);
}

async function takeTokens({ place: { process, recorder, prng, seen }, rates }: User): Promise<void> {
  const key = prng.pick(BUCKET_KEYS);
  const tokens = prng.integer(1, 2);
  const askedAt = process.now;
  const taken = await rates.tryTake(key, { tokens });
  seen(`tokens ${taken.kind}`);
  if (taken.kind === 'taken') tellTaken(process, recorder, { key, tokens, askedAt });
}

/** The caller of a take learns that it has its tokens. */
export function tellTaken(
  process: WorkerPlace['process'],
  recorder: WorkerPlace['recorder'],
  { key, tokens, askedAt }: { readonly key: string; readonly tokens: number; readonly askedAt: number },
): void {
  if (!process.isAlive) return;
  const { now } = process;
  const taking: Taking = { tokens, tookMs: now - askedAt };
  const [row, value] = [rateLimitKey(BUCKET.name, key).pk, JSON.stringify(taking)];
  recorder.emit({ kind: 'acknowledged', at: now, process: process.name, what: 'taken', row, value });
}

/** Adds members, some of them again, some of them leased to this session. */
async function fanOut({ place: { prng, seen }, holder, group: open }: User): Promise<void> {
  const group = await open(prng.pick(GROUPS));
  const ids = MEMBERS.filter(() => prng.chance(0.4));
  try {
    await group.add(ids, { ...(prng.chance(0.4) ? { session: holder } : {}), seal: prng.chance(0.3) });
    seen('members added');
  } catch (error) {
    if (!(error instanceof MismatchError)) throw error;
    seen('members refused: the group is sealed');
  }
}

async function work({ place: { process, prng, seen }, holder, group: open }: User): Promise<void> {
  const group = await open(prng.pick(GROUPS));
  const id = prng.pick(MEMBERS);
  try {
    if (prng.chance(0.5) && (await group.lease(id, holder)) !== 'pending') return;
    await process.runtime.clock.sleep(prng.between(1, 80));
    seen(`member ${await group.done(id)}`);
    if (prng.chance(0.2)) await group.done(id);
  } catch (error) {
    if (!(error instanceof MismatchError)) throw error;
    seen('no such member');
  }
}

/** Waits and reports the response; a waiter that finds the group complete may begin the next generation. */
async function waitForAll({ place, group: open }: User): Promise<void> {
  const { process, profile, prng, recorder, seen } = place;
  const group = await open(prng.pick(GROUPS));
  if (prng.chance(0.3)) await group.seal();
  const outcome = await group.wait({ wait: Math.round(prng.between(0, profile.ttlMs / 2)) });
  seen(`wait ended: ${outcome.kind}`);
  if (outcome.kind !== 'complete') return;
  const { name, generation } = group;
  const value = JSON.stringify({ generation, members: outcome.members, lost: outcome.lost });
  const row = groupRow(name);
  if (process.isAlive)
    recorder.emit({ kind: 'acknowledged', at: process.now, process: process.name, what: 'waited', row, value });
  if (prng.chance(0.7)) await group.next();
}

/** An operator changes a limit, or takes a permit away. */
async function operate({ place, semaphores }: User): Promise<void> {
  const { process, profile, prng, seen } = place;
  const { name, limit } = prng.pick(SEMAPHORES);
  if (!prng.chance(profile.forceShare)) {
    if (prng.chance(0.7)) return;
    const to = prng.chance(0.5) ? 'declared' : prng.integer(1, limit + 1);
    seen((await semaphores.setLimit(name, to)) ? 'limit set' : 'limit of nothing set');
    return;
  }
  const state = await semaphores.get(name);
  const [victim] = state?.holders ?? [];
  if (victim === undefined) return;
  const { token, session } = victim;
  const taken = await hurry(place, async (delay) => {
    if (prng.chance(0.4)) return endByForce(place, storesAt(place).sessions, session, delay);
    const evicted = await semaphores.evict(name, { token, by: process.name, reason: 'simulated', ...delay });
    return evicted === undefined ? 'gone before' : 'evicted';
  });
  seen(`permit taken away: ${taken}`);
}
