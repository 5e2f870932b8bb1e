/** Users of locks: they acquire, update their own register behind a fence, replace the value, and release, or do not get that far. */
import type { UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import type { DynamoFence } from '../../../shared/dynamo/dynamo-fence.ts';
import { dynamoFence } from '../../../shared/dynamo/dynamo-fence.ts';
import type { DynamoDriver, DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { lockKey } from '../../../shared/dynamo/engine/keys.ts';
import { LeaseLostError, StoreUnavailableError } from '../../../shared/core/errors.ts';
import { LockClient } from '../../../shared/coordination/lock/lock-client.ts';
import type { Lock } from '../../../shared/coordination/lock/lock.ts';
import { LockUnavailableError } from '../../../shared/coordination/lock/lock-record.ts';
import { WaiterQueue } from '../../../shared/core/wait/waiter-queue.ts';
import { Session } from '../../../shared/client/session.ts';
import type { SessionHolder } from '../../../shared/session/keep-alive.ts';
import type { SessionStore } from '../../../shared/session/session-store.ts';
import { wasAborted } from '../../../test/support/machines/abort-signal.ts';
import type { SimulatedProcess } from '../../../test/support/machines/process.ts';
import { REGISTER_PREFIX } from '../invariants/locks.ts';
import type { RightName } from '../history.ts';
import { TABLE_NAME, USER_TABLE } from '../rows.ts';
import type { WorkerPlace } from './worker-place.ts';
import { openSession, storesAt } from './worker-place.ts';
import { endByForce, hurry } from './force.ts';

/** Few, so that they are contended for. */
export const LOCK_KEYS = ['alpha', 'beta', 'gamma'] as const;

/** @returns how the invocation ended */
export async function useLocks(place: WorkerPlace): Promise<string> {
  const { process, profile, prng, seen } = place;
  const { runtime } = process;
  const { maxClockSkewMs } = profile;
  const { sessions, locks, semaphores } = storesAt(place);
  const behaviour = prng.pick(['release', 'release', 'delete'] as const);
  const holder = await openSession(place, sessions, { name: 'locker', behaviour });
  const ports = { locks, semaphores, sessions, runtime, gauge: place.gauge };
  const session = new Session(holder, { ...ports, table: TABLE_NAME, turns: new WaiterQueue(runtime.clock) });
  const endsAt = runtime.clock.monotonic() + 0.7 * profile.invocationMs;
  try {
    while (runtime.clock.monotonic() < endsAt && holder.remainingTrustMs() > 0) {
      const client = new LockClient(ports, maxClockSkewMs);
      if (prng.chance(profile.forceShare)) await takeAway(client, sessions, place);
      // A reader writes down what has become of keys whose sessions are dead.
      if (prng.chance(0.2)) await client.get(prng.pick(LOCK_KEYS));
      await useOne(place, session, holder);
      await runtime.clock.sleep(prng.exponential(150));
    }
    return 'locks used';
  } catch (error) {
    if (error instanceof LeaseLostError) return 'sessionLost';
    if (error instanceof StoreUnavailableError) return 'storeUnavailable';
    throw error;
  } finally {
    seen('locker ended');
    await session.end();
  }
}

async function useOne(place: WorkerPlace, session: Session, holder: SessionHolder): Promise<void> {
  const { process, profile, prng, recorder, seen } = place;
  const key = prng.pick(LOCK_KEYS);
  // A user that forgot to release acquires it again.
  const value = { ...(prng.chance(0.4) ? { value: `of ${process.name}` } : {}), reentrant: true };
  let lock: Lock;
  try {
    if (prng.chance(0.5)) {
      const acquisition = await session.tryLock(key, value);
      seen(`lock ${acquisition.kind}`);
      if (acquisition.kind !== 'acquired') return;
      ({ lock } = acquisition);
    } else {
      lock = await session.lock(key, { ...value, wait: Math.round(prng.between(0, 2 * profile.ttlMs)) });
      seen('lock acquired');
    }
  } catch (error) {
    if (!(error instanceof LockUnavailableError)) throw error;
    seen('lock waited for in vain');
    return;
  }
  const right: RightName = { row: lockKey(key).pk, token: lock.fencingToken, session: holder.id };
  const isBelieved = (): boolean => !wasAborted(lock.signal) && process.quietly(() => holder.remainingTrustMs() > 0);
  const endBelief = recorder.believes(process, right, isBelieved);
  try {
    await workUnder(place, lock, right);
    // A forgotten release is cleaned up by the end of the session.
    if (prng.chance(0.2)) return;
    endBelief();
    const isReleased = await lock.release(prng.chance(0.2) ? { value: 'left behind' } : {});
    seen(isReleased ? 'lock released' : 'lock found lost at release');
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    seen('lock lost');
  } finally {
    endBelief();
  }
}

/** Read-modify-write of a register, fence first, as documented. */
async function workUnder(place: WorkerPlace, lock: Lock, right: RightName): Promise<void> {
  const { process, profile, prng, recorder, seen } = place;
  const { clock } = process.runtime;
  const guard = dynamoFence(lock);
  const target = { TableName: USER_TABLE, Key: { id: `${REGISTER_PREFIX}${lock.key}` } };
  for (let writes = prng.integer(1, 3); writes > 0; writes--) {
    const seenItem = await sendFenced(place, guard.advance(target), guard);
    if (seenItem === undefined) return;
    if (!lock.signal.aborted) recorder.acted(process, right);
    await clock.sleep(prng.between(1, 0.3 * profile.ttlMs), lock.signal);
    const entry = `${right.token}/${lock.nextSequence()}`;
    const entries = [...((seenItem.entries as readonly string[] | undefined) ?? []), entry];
    const written = await sendFenced(
      place,
      guard.update({
        ...target,
        UpdateExpression: 'SET #entries = :entries',
        ExpressionAttributeNames: { '#entries': 'entries' },
        ExpressionAttributeValues: { ':entries': entries },
        ReturnValues: 'ALL_NEW',
      }),
      guard,
    );
    if (written === undefined) return;
    seen('register written');
    const row = `${USER_TABLE}/${target.Key.id}`;
    recorder.emit({ kind: 'acknowledged', at: process.now, process: process.name, what: 'added', row, value: entry });
    if (prng.chance(0.3)) await lock.update(`at ${entry}`);
  }
}

/** The user's own client: three tries, each with a time-out. Undefined: refused, or unknown. */
async function sendFenced(
  { process, driver, profile, seen, violated }: WorkerPlace,
  input: UpdateCommandInput,
  guard: DynamoFence,
): Promise<DynamoItem | undefined> {
  for (let attempt = 1; attempt <= 3; attempt++) {
    try {
      const { Attributes } = await attemptWithin(process, driver, input, Math.max(100, profile.ttlMs / 6));
      return Attributes ?? {};
    } catch (error) {
      if (!(error instanceof DynamoFault)) throw error;
      if (error.kind !== 'conditionFailed') continue;
      if (guard.wasApplied(input, error.item)) return error.item;
      seen('fence refused');
      if (isOlder(error.item ?? {}, input)) violated('I2', 'a fence refused a write that is newer than all before it');
      return undefined;
    }
  }
  return undefined;
}

/** Whether what is stored bears an older stamp than the write that it refused. */
function isOlder(stored: DynamoItem, { ExpressionAttributeValues: values = {} }: UpdateCommandInput): boolean {
  const [counter, sequence] = [Number(stored.leaseholdCounter), Number(stored.leaseholdSequence)];
  const [mine, myNext] = [Number(values[':leaseholdCounter']), Number(values[':leaseholdSequence'])];
  return counter < mine || (counter === mine && sequence < myNext);
}

async function attemptWithin(process: SimulatedProcess, driver: DynamoDriver, input: UpdateCommandInput, ms: number) {
  const timeout = new AbortController();
  const answered = new AbortController();
  void process.runtime.clock.sleep(ms, answered.signal).then(() => {
    if (!answered.signal.aborted) timeout.abort();
  });
  try {
    return await driver.attempt('update', input, timeout.signal);
  } finally {
    answered.abort('answered');
  }
}

/** An operator takes a key, or the session that holds it, away from its holder; some want it at once. */
async function takeAway(client: LockClient, sessions: SessionStore, place: WorkerPlace): Promise<void> {
  const { process, prng, seen } = place;
  const key = prng.pick(LOCK_KEYS);
  const info = await client.get(key);
  if (info?.holder === undefined) return;
  const { leaseCounter, holder } = info;
  const by = { by: process.name, reason: 'simulated' };
  const hurried = await hurry(place, async (delay) => {
    if (prng.chance(0.4)) return (await client.forceRelease(key, { ...by, leaseCounter, ...delay })).kind;
    if (prng.chance(0.3)) return (await client.delete(key, { evenIfHeld: true, ...delay })).kind;
    return endByForce(place, sessions, holder.session, delay);
  });
  seen(`lock taken away: ${hurried}`);
}
