import type { WorkEvent } from '../../shared/tasks/dispatch/dispatcher.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import type { WakerSettings } from '../../shared/tasks/dispatch/wake.ts';
import { Waker } from '../../shared/tasks/dispatch/wake.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createStores } from '../../shared/client/stores.ts';
import { createTaskStores } from '../../shared/client/task-stores.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import type { EnqueueOptions } from '../../shared/tasks/queue/task-client.ts';
import { TaskClient } from '../../shared/tasks/queue/task-client.ts';
import { TaskOperator } from '../../shared/tasks/queue/task-operator.ts';
import { systemIds } from '../../shared/core/runtime/ids.ts';
import { SemaphoreClient } from '../../shared/coordination/semaphore/semaphore-client.ts';
import { SessionHolder } from '../../shared/session/keep-alive.ts';
import type { ReadyPartition } from '../../shared/tasks/task/task-store.ts';
import type { Duration } from '../../shared/core/validate/duration.ts';
import { FakeClock } from '../../shared/testing/fake-clock.ts';
import { memoryDynamo } from '../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../shared/testing/simulated-dynamo/driver.ts';

export const QUEUE = 'q';
export const TTL_MS = 30_000;
export const SETTINGS: WakerSettings = {
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

/** A queue and its wakers, over the whole stack down to a DynamoDB in memory that counts what each look costs. */
export function openWakerQueue(settings: Partial<WakerSettings> = {}) {
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
  const pageOfGroups: typeof wakersStores.tasks.pageOfGroups = (partition, query) =>
    isIndexBehind
      ? Promise.resolve({ entries: [], next: undefined })
      : wakersStores.tasks.pageOfGroups(partition, query);
  let whileDeciding: (() => Promise<unknown>) | undefined;
  const noteStarts: typeof wakersStores.queues.noteStarts = async (...note) => {
    const act = whileDeciding;
    whileDeciding = undefined;
    await act?.();
    return wakersStores.queues.noteStarts(...note);
  };
  const newWaker = (startWorker?: (event: WorkEvent) => Promise<void>): Waker =>
    new Waker(
      {
        ...wakersStores,
        tasks: { ...wakersStores.tasks, page, pageOfGroups, getMany },
        queues: { ...wakersStores.queues, noteStarts },
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
    /** What happens once, after the next waker has decided and before it notes its starts. */
    beforeNote: (act: () => Promise<unknown>) => (whileDeciding = act),
    /** Eventually consistent reads show no row yet. */
    missRows: () => (areRowsBehind = true),
    async enqueue(count: number, runInMs = 0, options: EnqueueOptions = {}): Promise<readonly string[]> {
      const ids = Array.from({ length: count }, () => systemIds.unique());
      for (const id of ids) await client.enqueue('task', {}, { id, delay: `${runInMs}ms`, ...options });
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
      await semaphores.declareLimit(name, all.maxWorkers);
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
