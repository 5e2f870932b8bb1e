/** Sends every verb of the protocol at least once, the usual ones as usual: for measuring what they cost. */
import { AuditStore } from '../shared/operate/audit/audit-store.ts';
import { RAISES } from '../shared/operate/epoch/epoch-statements.ts';
import { EpochStore } from '../shared/operate/epoch/epoch-store.ts';
import type { Sender } from '../shared/dynamo/engine/send.ts';
import type { Stores } from '../shared/client/stores.ts';
import { createStores } from '../shared/client/stores.ts';
import { assert } from '../shared/core/errors.ts';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { stampOf } from '../shared/core/lease/stamp.ts';
import { Leasehold } from '../shared/client/leasehold.ts';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import { SemaphoreClient } from '../shared/coordination/semaphore/semaphore-client.ts';
import type { Session } from '../shared/client/session.ts';
import { TaskClient } from '../shared/tasks/queue/task-client.ts';
import { TaskOperator } from '../shared/tasks/queue/task-operator.ts';
import type { SequencedStamp } from '../shared/tasks/task/task-store.ts';
import type { Claim, ReadyTask } from '../shared/tasks/task/task.ts';
import { exerciseCoordination } from './every-coordination.ts';
import { exerciseFeatures } from './every-feature.ts';
import { exercisePacks } from './bulk/every-verb.ts';

const SHARDS = 8;
const PAYLOAD = { bucket: 'thumbnails', key: 'x'.repeat(100) };
const AN_HOUR_MS = 3_600_000;
/** As long as is kept of one. */
const STACK =
  'Error: the store answered 503 Service Unavailable\n    at render (file:///var/task/work.mjs:10:5)'.padEnd(
    4_000,
    ' ',
  );

/** @param about receives the feature that the next operations use; empty: no feature */
export async function exerciseVerbs(sender: Sender, table: string, about: (feature: string) => void): Promise<void> {
  const foundation = { sender, runtime: systemRuntime, gauge: noSkewGauge };
  const leasehold = new Leasehold(foundation, { table });
  const stores = createStores(sender, { table, shards: SHARDS });
  let renewals = 0;
  const events = { onRenewed: () => void renewals++ };
  await using session = await leasehold.session({ name: 'worker/default', ttl: '10m', heartbeat: '200ms', events });
  await exerciseLocks(leasehold, session);
  await settleDoubts(stores, session);
  await settleExpired(stores);
  await exerciseSemaphores(stores, session);
  await exerciseCoordination(leasehold, session, stores);
  await exerciseTasks(stores, session);
  await exerciseFeatures(stores, about);
  about('');
  await repairKeys(stores);
  await exercisePacks(stores.tasks, session);
  await stores.slots.take({ schedule: 'minutely', slot: '2027-01-01T00:00:00Z' }, { by: 'bench', ...stamp() });
  const deed = { verb: 'bench', target: 'nothing', by: 'bench', reason: 'to see what it costs' };
  await new AuditStore(foundation, table).record(
    deed,
    () => Promise.resolve(),
    () => 'done',
  );
  // The rows do not exist: each statement is sent once, and a refusal costs the same.
  for (const [sk, raises] of Object.entries(RAISES))
    for (const raise of raises) await new EpochStore(foundation, table).raise({ pk: 'none', sk, raise, counter: 1 }, 2);
  // One renewal learns what was taken away, the next removes it from the row, and one more finds nothing to remove.
  for (const before = renewals; renewals < before + 3 && !session.signal.aborted;) await systemRuntime.clock.sleep(50);
}

/** The steps of a session for a key after a response was lost. */
async function settleDoubts({ locks }: Stores, session: Session): Promise<void> {
  const { now } = stamp();
  const request = { key: 'doubtful', session: session.id, content: undefined, isListed: true, openBefore: now };
  const free = await locks.barLate({ key: 'doubtful', observed: undefined, notBeforeAsked: now }, stamp());
  assert(free.kind === 'applied', 'no other process writes the key');
  await locks.barLate({ key: 'doubtful', observed: free.row, notBeforeAsked: now }, stamp());
  const { leaseCounter } = free.row;
  const held = await locks.acquire({ ...request, observedCounter: leaseCounter + 1 }, stamp());
  assert(held.kind === 'applied', 'no other session acquires the key');
  await locks.disown(held.row, { notBeforeAsked: now }, stamp());
}

/** The steps of contenders for an expired session, and for a key that it held. */
async function settleExpired({ sessions, locks }: Stores): Promise<void> {
  const { now } = stamp();
  const identity = { id: 'expired', name: 'expired', node: 'bench', behaviour: 'release' } as const;
  const created = await sessions.create({ ...identity, ttlMs: 1_000, lockDelayMs: 0, ...stamp() });
  assert(created.kind === 'applied', 'no other session has the id');
  const request = { key: 'left', session: 'expired', content: undefined, isListed: true, openBefore: now };
  const held = await locks.acquire(request, stamp());
  assert(held.kind === 'applied', 'no other session acquires the key');
  await sessions.expire({ observed: created.row, expiredBefore: now + 3_000, ...stamp() });
  await locks.settle(held.row, { behaviour: 'release', notBefore: now }, true, stamp());
}

async function exerciseLocks(leasehold: Leasehold, session: Session): Promise<void> {
  const key = 'reports/nightly';
  const lock = await session.lock(key, { value: 'host-1' });
  await lock.update('host-1, half done');
  await using rival = await leasehold.session({ name: 'rival' });
  await rival.tryLock(key);
  await leasehold.verify(lock.sequencer);
  await leasehold.locks.get(key);
  await lock.release();
  await (await session.lock('orders/1', { listed: false })).release();
  const locks = await session.lockAll(['a', 'b']);
  await locks.release();
  const { leaseCounter } = await session.lock(key);
  await leasehold.locks.forceRelease(key, { by: 'bench', reason: 'to see what it costs', leaseCounter, lockDelay: 0 });
  const doomed = await leasehold.session({ name: 'doomed', lockDelay: 0 });
  await doomed.lock('abandoned');
  await leasehold.sessions.destroy(doomed.id);
  // After a destroyed session's lock-delay of zero, its key is free as soon as clocks may differ.
  await session.lock('abandoned', { wait: '5s' });
  await leasehold.locks.put('settings', 'value');
  await leasehold.locks.delete('settings');
  for await (const _ of leasehold.locks.list()) continue;
}

async function exerciseSemaphores(stores: Stores, session: Session): Promise<void> {
  const ports = { ...stores, runtime: systemRuntime, gauge: noSkewGauge };
  const semaphores = new SemaphoreClient(ports, { maxClockSkewMs: 1_000 });
  const name = 'workers/default';
  for (let round = 0; round < 3; round++) {
    const acquisition = await semaphores.tryAcquire(session.holder, name, { limit: 1 });
    assert(acquisition.kind === 'acquired', 'the semaphore is free');
    await semaphores.tryAcquire(session.holder, name, { limit: 1 });
    await acquisition.permit.release();
  }
  const last = await semaphores.tryAcquire(session.holder, name, { limit: 1 });
  assert(last.kind === 'acquired', 'the semaphore is free');
  await semaphores.evict(name, { token: last.permit.fencingToken, by: 'bench', reason: 'to see what it costs' });
  await semaphores.setLimit(name, 5);
  await semaphores.get(name);
}

async function exerciseTasks(stores: Stores, session: Session): Promise<void> {
  const { tasks: store, queues } = stores;
  const client = new TaskClient({ store, runtime: systemRuntime });
  const operator = new TaskOperator({ ...stores, runtime: systemRuntime, gauge: noSkewGauge });
  const claim = async (id: string): Promise<Claim> => {
    const task = await store.get({ queue: 'default', id });
    const outcome = await store.claim(task as ReadyTask, session.id, stamp());
    assert(outcome.kind === 'applied', `${id} is claimed`);
    return outcome.row;
  };
  const start = async (id: string): Promise<Claim> => {
    await client.enqueue('thumbnail', PAYLOAD, { id });
    return claim(id);
  };
  const error = { name: 'Error', message: 'the store answered 503 Service Unavailable', at: systemRuntime.clock.now() };
  const later = systemRuntime.clock.now() + AN_HOUR_MS;
  await store.complete(await start('done'), { bytes: 12_345 }, stamp());
  const effect = { Put: { TableName: store.table, Item: { pk: 'user#1', sk: 'user', bytes: 12_345 } } };
  await store.commit(await start('committed'), { bytes: 12_345 }, [effect], numbered());
  await store.bar(await start('refused'), numbered());
  await store.retry(await start('retried'), { error, readyAt: later }, stamp());
  const doomed = await start('dead');
  await store.discard(doomed, error, stamp());
  await store.keepFailure(doomed, STACK, stamp());
  await store.getFailure(doomed);
  await store.release(await start('released'), stamp());
  await store.snooze(await start('snoozed'), later, stamp());
  const slow = await start('slow');
  await store.progress(slow, { done: 10 }, numbered());
  await operator.cancel('slow');
  await client.enqueue('thumbnail', PAYLOAD, { id: 'waiting' });
  await client.enqueue('thumbnail', PAYLOAD, { id: 'waiting' });
  await operator.reschedule('waiting', { runAt: later });
  await operator.cancel('waiting');
  await operator.retry('dead');
  await operator.pause();
  const use = { lanes: new Set(['normal']), shards: SHARDS };
  await queues.noteUse('default', await queues.glance('default'), use, stamp());
  await queues.announceNames('default', await queues.glance('default'), ['resize'], stamp());
  await queues.announceNames('default', await queues.glance('default'), ['thumbnail', 'resize'], stamp());
  const workerSettings = { concurrency: 10, startWithinMs: 10_000 };
  await queues.noteHints(
    'default',
    { tookMs: 20, unknownNames: [], announcedNames: ['resize'], workerSettings },
    stamp(),
  );
  await queues.noteHints(
    'default',
    { tookMs: undefined, unknownNames: ['lost'], announcedNames: ['resize'], workerSettings },
    stamp(),
  );
  const starts = { count: 2, token: 0, untilMs: systemRuntime.clock.now(), waitMs: 2_000, heard: [] };
  await queues.noteStarts('default', undefined, starts, stamp());
  await queues.noteStarts('default', (await queues.get('default'))?.starts, starts, stamp());
  await operator.resume();
  for (let shard = 0; shard < SHARDS; shard++)
    await store.page({ queue: 'default', priority: 'normal', shard }, { now: systemRuntime.clock.now(), limit: 50 });
  await store.getMany([
    { queue: 'default', id: 'done' },
    { queue: 'default', id: 'dead' },
  ]);
}

/** An operator's repairs of a key's count, and of a line. The turn was passed before, so each pass is refused, at the same cost. */
async function repairKeys({ operations, tasks }: Stores): Promise<void> {
  const observed = await operations.getKey('features', 'tenant-7');
  await operations.recountKey('features', 'tenant-7', { observed, running: observed.running }, stamp());
  const absent = await operations.getKey('default', 'tenant-7');
  await operations.recountKey('default', 'tenant-7', { observed: absent, running: 0 }, stamp());
  const client = new TaskClient({ store: tasks, runtime: systemRuntime });
  for (const id of ['alone', 'behind']) await client.enqueue('thumbnail', PAYLOAD, { id, key: 'line', ordered: true });
  const line = await operations.getLine('default', 'line');
  assert(line !== undefined, 'the line is there');
  for (const tail of [line.turn - 1, line.tail])
    await operations.passLine('default', 'line', { turn: line.turn - 1, tail }, stamp());
  const behind = await tasks.get({ queue: 'default', id: 'behind' });
  assert(behind?.state === 'ready', 'it waits');
  await tasks.cancel(behind, { at: systemRuntime.clock.now(), reason: 'enough' }, stamp());
  const cancelled = await tasks.get(behind);
  assert(cancelled?.state === 'cancelled', 'it was cancelled');
  await tasks.getTurns('default', ['line']);
  await tasks.passTurn(cancelled, stamp());
  await operations.getManyNow([{ queue: 'default', id: 'alone' }], () => undefined);
}

function stamp() {
  return stampOf(systemRuntime);
}

/** Stamp of a claim's first numbered write. */
function numbered(): SequencedStamp {
  return { ...stamp(), sequence: 1 };
}
