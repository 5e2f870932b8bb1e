/** Wakes of a queue, over the whole stack down to a DynamoDB in memory that counts what each look costs. */
import { describe, expect, test } from 'vitest';
import type { WorkEvent } from '../../../../shared/tasks/dispatch/dispatcher.ts';
import { workersSemaphore } from '../../../../shared/tasks/dispatch/dispatcher.ts';
import type { WakerSettings } from '../../../../shared/tasks/dispatch/wake.ts';
import { Waker } from '../../../../shared/tasks/dispatch/wake.ts';
import { createMeter } from '../../../../shared/dynamo/engine/meter.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { createStores } from '../../../../shared/client/stores.ts';
import { createTaskStores } from '../../../../shared/client/task-stores.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../../../shared/core/lease/timing.ts';
import { TaskClient } from '../../../../shared/tasks/queue/task-client.ts';
import { TaskOperator } from '../../../../shared/tasks/queue/task-operator.ts';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import { SemaphoreClient } from '../../../../shared/coordination/semaphore/semaphore-client.ts';
import { SessionHolder } from '../../../../shared/session/keep-alive.ts';
import type { ReadyPartition } from '../../../../shared/tasks/task/task-store.ts';
import type { Duration } from '../../../../shared/core/validate/duration.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { memoryDynamo } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';

const QUEUE = 'q';
const TTL_MS = 30_000;
const SETTINGS: WakerSettings = {
  queue: QUEUE,
  shards: 2,
  maxWorkers: 3,
  startWithinMs: 10_000,
  concurrency: 10,
  maxClockSkewMs: 1_000,
};

interface KeyLimits {
  readonly limit: number;
  readonly rate?: { readonly count: number; readonly per: Duration };
}

const ONE_AN_HOUR: KeyLimits = { limit: 5, rate: { count: 1, per: '1h' } };

function open(settings: Partial<WakerSettings> = {}) {
  const all = { ...SETTINGS, ...settings };
  const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
  const runtime = { clock, random: { next: () => 0.5 }, ids: systemIds };
  const driver = simulatedDriver(memoryDynamo('leasehold', () => clock.now()));
  const meter = createMeter();
  const options = { table: 'leasehold', shards: all.shards };
  const stores = createStores(new Sender({ driver, runtime }), options);
  const wakersStores = createTaskStores(new Sender({ driver, runtime, observer: meter }), options);
  const client = new TaskClient({ store: stores.tasks, runtime }, { queue: QUEUE });
  const semaphores = new SemaphoreClient({ ...stores, runtime, gauge: noSkewGauge }, all);
  const name = workersSemaphore(QUEUE);
  const started: WorkEvent[] = [];
  let isIndexBehind = false;
  let areRowsBehind = false;
  const getMany: typeof wakersStores.tasks.getMany = (keys, onDamaged) =>
    areRowsBehind ? Promise.resolve([]) : wakersStores.tasks.getMany(keys, onDamaged);
  const page = (partition: ReadyPartition, query: { readonly now: number; readonly limit: number }) =>
    isIndexBehind ? Promise.resolve({ hints: [], next: undefined }) : wakersStores.tasks.page(partition, query);
  const newWaker = (startWorker?: (event: WorkEvent) => Promise<void>): Waker =>
    new Waker(
      {
        ...wakersStores,
        tasks: { ...wakersStores.tasks, page, getMany },
        runtime,
        workers: {
          startWorker: startWorker ?? ((event) => Promise.resolve(void started.push(event))),
          declareLimit: () => semaphores.declareLimit(name, all.maxWorkers),
        },
        onDamaged(error) {
          throw error;
        },
      },
      all,
    );
  return {
    clock,
    started,
    operator: new TaskOperator({ ...stores, runtime, gauge: noSkewGauge }, { queue: QUEUE }),
    newWaker,
    waker: newWaker(),
    stores,
    runtime,
    /** An operator has written the queue's row. */
    async hasRow({ isPaused = false } = {}): Promise<void> {
      const observed = await stores.queues.get(QUEUE);
      const stamp = { now: clock.now(), nonce: systemIds.unique() };
      await stores.queues.change(QUEUE, observed, { isPaused, reason: '' }, stamp);
    },
    lagBehind: () => (isIndexBehind = true),
    /** Eventually consistent reads show no row yet. */
    missRows: () => (areRowsBehind = true),
    async enqueue(count: number, runInMs = 0): Promise<readonly string[]> {
      const ids = Array.from({ length: count }, () => systemIds.unique());
      for (const id of ids) await client.enqueue('task', {}, { id, ...(runInMs > 0 ? { delay: runInMs } : {}) });
      return ids;
    },
    /** One task of a key. */
    async enqueueOfKey(limits: KeyLimits): Promise<string> {
      const id = systemIds.unique();
      await client.enqueue('task', {}, { id, key: 'k', ...limits });
      return id;
    },
    async runToEnd(id: string): Promise<void> {
      const stamp = () => ({ now: clock.now(), nonce: systemIds.unique() });
      const row = await stores.tasks.get({ queue: QUEUE, id });
      if (row?.state !== 'ready') throw new Error(`${id} is not ready`);
      const claimed = await stores.tasks.claim(row, 'session', stamp());
      if (claimed.kind !== 'applied') throw new Error(`${id} was not claimed`);
      await stores.tasks.complete(claimed.row, undefined, stamp());
    },
    /** A worker with its session and its permit, which stay when it is killed. */
    async worker() {
      let isDead = false;
      const renew: typeof stores.sessions.renew = (...asked) =>
        isDead ? Promise.withResolvers<never>().promise : stores.sessions.renew(...asked);
      const session = await SessionHolder.create(
        {
          name: `worker/${QUEUE}`,
          node: 'test',
          behaviour: 'release',
          timing: sessionTiming({ ttlMs: TTL_MS, heartbeatMs: 10_000, lockDelayMs: 0 }),
        },
        { store: { ...stores.sessions, renew }, runtime, gauge: noSkewGauge },
      );
      const permit = await semaphores.tryAcquire(session, name, { limit: all.maxWorkers });
      if (permit.kind !== 'acquired') throw new Error('no permit');
      return {
        kill: () => (isDead = true),
        async leave() {
          await permit.permit.release();
          await session.end();
        },
      };
    },
    /** Requests that the look sent. */
    async costOf(look: () => Promise<unknown>): Promise<{ readonly reads: number; readonly writes: number }> {
      const before = meter.read();
      await look();
      const { readUnits, writeUnits } = meter.read();
      return { reads: readUnits - before.readUnits, writes: writeUnits - before.writeUnits };
    },
  };
}

describe('a wake of a queue', () => {
  test('starts as many as a tick would: a slot per task without a measured time', async () => {
    const q = open();
    const ids = await q.enqueue(15);

    expect(await q.waker.wake(ids)).toMatchObject({ started: 2, failedStarts: 0 });
    expect(q.started.map(({ queue }) => queue)).toEqual([QUEUE, QUEUE]);
  });

  test('starts no worker for a task of a key whose rate is used up', async () => {
    const q = open();
    await q.runToEnd(await q.enqueueOfKey(ONE_AN_HOUR));
    const ids = [await q.enqueueOfKey(ONE_AN_HOUR)];

    expect(await q.waker.wake(ids)).toMatchObject({ started: 0, planned: { due: 0, why: 'keysFull' } });
    await q.clock.advance(3_600_000);
    expect(await q.waker.wake(ids)).toMatchObject({ started: 1 });
  });

  test('starts no worker for delayed tasks, and reads only their rows', async () => {
    const q = open();
    const ids = await q.enqueue(4, 60_000);

    const cost = await q.costOf(async () => {
      expect(await q.waker.wake(ids)).toMatchObject({ started: 0, reason: 'nothingDue' });
    });

    // The permits at one unit, or half of it if there are none, and four rows at half a unit each.
    expect(cost.reads).toBeLessThanOrEqual(1 + 4 * 0.5);
    expect(cost.writes).toBe(0);
  });

  test('finds the one due task behind many delayed ones', async () => {
    const q = open();
    const later = await q.enqueue(60, 60_000);
    const due = await q.enqueue(1);

    expect(await q.waker.wake([...later, ...due])).toMatchObject({ started: 1 });
  });

  test('passes ids that the index does not show yet to the started worker', async () => {
    const q = open();
    q.lagBehind();
    const ids = await q.enqueue(2);

    expect(await q.waker.wake(ids)).toMatchObject({ started: 1 });
    const [{ tasks = [], ...event } = { queue: 'none', homeShards: [] }] = q.started;
    expect(event).toEqual({ queue: QUEUE, homeShards: [0, 1] });
    expect([...tasks].sort()).toEqual([...ids].sort());
  });

  test.each([
    ['the index', { index: true, rows: false }],
    ['the rows', { index: false, rows: true }],
    ['anything', { index: true, rows: true }],
  ])('starts a worker before %s can be read', async (_what, behind) => {
    const q = open();
    const ids = await q.enqueue(2);
    if (behind.index) q.lagBehind();
    if (behind.rows) q.missRows();

    expect(await q.waker.wake(ids)).toMatchObject({ started: 1 });
  });

  test("names no tasks if others wait, which come first in the index's order", async () => {
    const q = open();
    await q.enqueue(3);

    await q.waker.wake(await q.enqueue(2));

    expect(q.started).toHaveLength(1);
    expect(q.started[0]).not.toHaveProperty('tasks');
  });

  test('starts nothing more for a doubled wake while the first start is in flight', async () => {
    const q = open();
    const ids = await q.enqueue(1);
    await q.waker.wake(ids);

    const cost = await q.costOf(async () => {
      expect(await q.waker.wake(ids)).toMatchObject({ started: 0, reason: 'justStarted' });
    });

    expect(q.started).toHaveLength(1);
    expect(cost).toEqual({ reads: 1, writes: 0 });
  });

  test('starts another worker when a start led to no worker within two seconds', async () => {
    const q = open();
    const ids = await q.enqueue(1);
    await q.waker.wake(ids);
    await q.clock.advance(2_001);

    expect(await q.waker.wake(ids)).toMatchObject({ started: 1 });
  });

  test('starts another at once after the started worker has already exited', async () => {
    const q = open();
    await q.waker.wake(await q.enqueue(1));
    const worker = await q.worker();
    await worker.leave();

    expect(await q.waker.wake(await q.enqueue(1))).toMatchObject({ started: 1 });
  });

  test('leaves tasks to a worker with enough slots, started by any waker, and starts more workers for further tasks', async () => {
    const q = open();
    await q.worker();

    expect(await q.newWaker().wake(await q.enqueue(10))).toMatchObject({ started: 0, reason: 'atWork' });
    expect(await q.newWaker().wake(await q.enqueue(10))).toMatchObject({ started: 1 });
  });

  test('leaves tasks to sufficient workers, for one read', async () => {
    const q = open();
    await q.hasRow();
    await q.worker();
    await q.clock.advance(2_000);
    await q.waker.wake(await q.enqueue(3));
    const ids = await q.enqueue(3);

    const cost = await q.costOf(async () => {
      expect(await q.waker.wake(ids)).toMatchObject({ started: 0, reason: 'atWork' });
    });

    expect(cost).toEqual({ reads: 1, writes: 0 });
  });

  test('counts a record that is delivered twice once, so that it reads no backlog for it', async () => {
    const q = open();
    await q.hasRow();
    await q.worker();
    await q.clock.advance(2_000);
    const ids = await q.enqueue(9);
    await q.waker.wake(ids);

    const cost = await q.costOf(async () => {
      expect(await q.waker.wake(ids)).toMatchObject({ started: 0, reason: 'atWork' });
    });

    expect(cost).toEqual({ reads: 1, writes: 0 });
  });

  test('starts as many workers with four stream shards as with one, although no shard has all tasks', async () => {
    const q = open({ maxWorkers: 20 });
    await q.hasRow();
    q.lagBehind();
    const wakers = Array.from({ length: 4 }, () => q.newWaker());
    const bursts = await Promise.all(wakers.map(() => q.enqueue(8)));

    const first = await Promise.all(wakers.map((waker, nth) => waker.wake(bursts[nth] ?? [])));

    expect(first.map(({ started }) => started).reduce((sum, one) => sum + one)).toBe(4);
    for (const [nth, waker] of wakers.entries())
      expect(await waker.wake(bursts[nth] ?? [])).toMatchObject({ started: 0, reason: 'justStarted' });
    expect(await wakers[0]?.wake(await q.enqueue(8))).toMatchObject({ started: 0, reason: 'justStarted' });
    expect(await wakers[1]?.wake(await q.enqueue(1))).toMatchObject({ started: 1 });
  });

  test('counts what wakers of other shards have started, without having seen it before', async () => {
    const q = open();
    await q.hasRow();
    await q.newWaker().wake(await q.enqueue(1));

    expect(await q.newWaker().wake(await q.enqueue(1))).toMatchObject({ started: 0, reason: 'justStarted' });
    expect((await q.stores.queues.get(QUEUE))?.starts).toMatchObject({ count: 1, heard: [{ count: 1 }, { count: 1 }] });
  });

  test('counts tasks of a key that wakers of other shards have noted up to its limit', async () => {
    const q = open({ concurrency: 1 });
    await q.hasRow();
    const wakers = Array.from({ length: 4 }, () => q.newWaker());
    const ids = await Promise.all(wakers.map(() => q.enqueueOfKey({ limit: 1 })));

    // The index shows the first task of the key, as many as may run.
    for (const nth of [1, 2, 3, 0]) await wakers[nth]?.wake(ids.slice(nth, nth + 1));

    expect(q.started).toHaveLength(1);
  });

  test('counts a noted task that the index shows once, however long the stream took', async () => {
    const q = open({ concurrency: 1 });
    await q.hasRow();
    const [late = '', next = ''] = await q.enqueue(2);
    await q.clock.advance(8_000);
    await q.newWaker().wake([late]);

    await q.newWaker().wake([next]);

    expect(q.started).toHaveLength(2);
  });

  test("does not mistake a task that it noted late for another shard's task", async () => {
    const q = open({ concurrency: 1 });
    await q.hasRow({ isPaused: true });
    const first = await q.enqueue(1);
    await q.waker.wake(first);
    await q.clock.advance(900);
    await q.hasRow();
    expect(await q.waker.wake(await q.enqueue(1))).toMatchObject({ started: 2 });
    await q.operator.cancel(first[0] ?? '');
    await q.clock.advance(300);

    expect(await q.waker.wake(await q.enqueue(1))).toMatchObject({ started: 0, reason: 'justStarted' });
  });

  test('reads the backlog again after half of startWithin, because other shards may have filled the workers', async () => {
    const q = open();
    await q.worker();
    expect(await q.waker.wake(await q.enqueue(1))).toMatchObject({ reason: 'atWork' });
    await q.enqueue(9);
    await q.clock.advance(5_000);

    expect(await q.waker.wake(await q.enqueue(1))).toMatchObject({ started: 1 });
  });

  test('adds a worker when enough tasks have arrived to justify it', async () => {
    const q = open();
    await q.worker();
    await q.clock.advance(2_000);
    expect(await q.waker.wake(await q.enqueue(9))).toMatchObject({ reason: 'atWork' });

    expect(await q.waker.wake(await q.enqueue(9))).toMatchObject({ started: 1 });
  });

  test('starts nothing while the maximum number of workers runs', async () => {
    const q = open({ maxWorkers: 2 });
    await q.worker();
    await q.worker();
    await q.clock.advance(5_000);

    expect(await q.waker.wake(await q.enqueue(50))).toMatchObject({ started: 0, reason: 'full' });
  });

  test('starts workers in spite of permits of crashed workers', async () => {
    const q = open({ maxWorkers: 1 });
    const worker = await q.worker();
    await q.clock.advance(2_000);
    const ids = await q.enqueue(1);
    expect(await q.waker.wake(ids)).toMatchObject({ reason: 'full' });
    worker.kill();
    await q.clock.advance(TTL_MS + 2_000);

    expect(await q.waker.wake(ids)).toMatchObject({ started: 1 });
  });

  test('starts nothing in a paused queue', async () => {
    const q = open();
    const ids = await q.enqueue(1);
    const to = { isPaused: true, reason: 'incident' };
    await q.stores.queues.change(QUEUE, undefined, to, { now: q.clock.now(), nonce: systemIds.unique() });

    expect(await q.waker.wake(ids)).toMatchObject({ started: 0, reason: 'paused' });
  });

  test('reports how many starts failed, and does not throw', async () => {
    const q = open();
    const ids = await q.enqueue(1);
    const waker = q.newWaker(() => Promise.reject(new Error('throttled')));

    expect(await waker.wake(ids)).toMatchObject({ started: 0, failedStarts: 1 });
  });

  test('puts a changed `maxWorkers` into effect before it starts a worker that declares it', async () => {
    const q = open({ maxWorkers: 2 });
    await new SemaphoreClient({ ...q.stores, runtime: q.runtime, gauge: noSkewGauge }, SETTINGS).declareLimit(
      workersSemaphore(QUEUE),
      7,
    );

    await q.waker.wake(await q.enqueue(1));

    expect((await q.stores.semaphores.get(workersSemaphore(QUEUE)))?.declared).toBe(2);
  });
});
