/** Ticks of the dispatcher, over the whole stack down to a DynamoDB in memory. */
import { describe, expect, test } from 'vitest';
import type { DispatchReport, DispatchSettings, WorkEvent } from '../../../../shared/tasks/dispatch/dispatcher.ts';
import { dispatch } from '../../../../shared/tasks/dispatch/dispatcher.ts';
import { shardOf } from '../../../../shared/dynamo/engine/keys.ts';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { createQueueStore } from '../../../../shared/tasks/rows/dynamo-queue-store.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../../../shared/session/row/dynamo-session-store.ts';
import { createTickStore } from '../../../../shared/tasks/rows/dynamo-tick-store.ts';
import { createTaskStore } from '../../../../shared/tasks/rows/task/dynamo-task-store.ts';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../../../shared/core/lease/timing.ts';
import { TaskClient } from '../../../../shared/tasks/queue/task-client.ts';
import { defineTask, registerTasks } from '../../../../shared/tasks/task/definition.ts';
import { runWorker } from '../../../../shared/tasks/worker/run-worker.ts';
import type { TaskStore } from '../../../../shared/tasks/task/task-store.ts';
import type { Priority, TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { memoryDynamo } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';
import { openHolder } from '../../../support/open-holder.ts';

const TABLE = 'leasehold';
const QUEUE = 'q';
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const SETTINGS: DispatchSettings = {
  queue: QUEUE,
  shards: 2,
  maxWorkers: 10,
  concurrency: 10,
  startWithinMs: 10_000,
  maxClockSkewMs: 1_000,
};

interface TickOptions {
  /** Sessions of live workers. */
  readonly live?: readonly string[];
  readonly scheduledTime?: string;
  readonly by?: string;
  readonly store?: TaskStore;
}

function open({
  shards = 2,
  clientShards = shards,
}: { readonly shards?: number; readonly clientShards?: number } = {}) {
  const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
  const runtime = { clock, random: { next: () => 0.5 }, ids: systemIds };
  const sender = new Sender({ driver: simulatedDriver(memoryDynamo(TABLE, () => clock.now())), runtime });
  const tasks = createTaskStore(sender, { table: TABLE, shards });
  const ticks = createTickStore(sender, TABLE);
  const queues = createQueueStore(sender, TABLE);
  const stamp = () => ({ now: clock.now(), nonce: systemIds.unique() });
  const client = new TaskClient(
    { store: createTaskStore(sender, { table: TABLE, shards: clientShards }), runtime },
    { queue: QUEUE },
  );
  const sessions = createSessionStore(sender, TABLE);
  const started: WorkEvent[] = [];
  const done: string[] = [];
  const task = defineTask({ name: 'task', run: (_, { id }) => void done.push(id) });
  const work = async (homeShards: readonly number[]): Promise<void> => {
    const timing = sessionTiming({ ttlMs: 30_000, heartbeatMs: 10_000, lockDelayMs: 0 });
    const session = await openHolder({ timing, name: 'test', node: 'test' }, { store: sessions, runtime });
    const settings = {
      queue: QUEUE,
      shards,
      homeShards,
      concurrency: 10,
      pollMs: 1_000,
      graceMs: 1_000,
      deadlineMonotonicMs: Infinity,
    };
    const ports = { tasks, sessions, queues, session, runtime, gauge: noSkewGauge, log: silent };
    await runWorker(registerTasks({ task }), ports, settings, new AbortController().signal);
    await session.end();
  };
  let count = 0;
  return {
    clock,
    tasks,
    queues,
    started,
    done,
    work: (homeShards: readonly number[]) => clock.runUntil(work(homeShards), () => true),
    async enqueue(...ids: readonly string[]): Promise<void> {
      for (const id of ids) await client.enqueue(task, {}, { id });
    },
    async enqueueAt(priority: Priority): Promise<void> {
      await client.enqueue(task, {}, { priority });
    },
    /** Tasks that are due one after the other. */
    async enqueueOfKey(limit: number, ...ids: readonly string[]): Promise<void> {
      for (const id of ids) {
        await client.enqueue(task, {}, { id, key: 'k', limit });
        await clock.advance(1);
      }
    },
    async claim(...ids: readonly string[]): Promise<void> {
      for (const id of ids) {
        const row: TaskRecord | undefined = await tasks.get({ queue: QUEUE, id });
        if (row?.state !== 'ready') throw new Error(`${id} is not ready`);
        await tasks.claim(row, 'session', stamp());
      }
    },
    tick(
      settings: Partial<DispatchSettings> = {},
      {
        scheduledTime = String(++count),
        by = `request of ${scheduledTime}`,
        store = tasks,
        live = [],
      }: TickOptions = {},
    ): Promise<DispatchReport> {
      const workers = {
        startWorker: (event: WorkEvent) => Promise.resolve(void started.push(event)),
        declareLimit: () => Promise.resolve(),
        liveHolders: () => Promise.resolve(live),
      };
      const onDamaged = (error: unknown): never => {
        throw error;
      };
      return dispatch(
        { schedule: 'schedule', scheduledTime },
        by,
        { tasks: store, schedules: undefined, sessions, ticks, queues, runtime, workers, onDamaged },
        { ...SETTINGS, shards, ...settings },
      );
    },
  };
}

function named(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(4, '0')}`);
}

describe('the age of the oldest task that waits', () => {
  test.each([0, 24, 25, 100, 250])('reports tasks behind the %i running ones', async (running) => {
    const q = open();
    await q.enqueue(...named('runs', running));
    await q.claim(...named('runs', running));
    await q.clock.advance(1_000);
    await q.enqueue(...named('waits', 30));
    await q.clock.advance(HOUR_MS);

    expect(await q.tick()).toMatchObject({ backlog: running + 30, oldestReadyAgeMs: HOUR_MS });
  });
});

test('reads a few shards at a time, for any number of shards', async () => {
  const q = open({ shards: 64 });
  let [now, atMost] = [0, 0];
  const counted = async <T>(look: Promise<T>): Promise<T> => {
    atMost = Math.max(atMost, ++now);
    return look.finally(() => {
      now--;
    });
  };
  const store: TaskStore = {
    ...q.tasks,
    page: (...query) => counted(q.tasks.page(...query)),
    pageOfGroups: (...query) => counted(q.tasks.pageOfGroups(...query)),
  };

  await q.tick({}, { store });

  expect(atMost).toBe(16);
});

describe('a tick that failed after it had taken its row', () => {
  async function failOnce() {
    const q = open();
    await q.enqueue('a');
    const store: TaskStore = {
      ...q.tasks,
      page: () => Promise.reject(new StoreUnavailableError('task.page: gave up', { applied: 'no' })),
    };
    await expect(q.tick({}, { scheduledTime: 'noon', by: 'first', store })).rejects.toThrow('gave up');
    return q;
  }

  test('goes on when its invocation is tried again', async () => {
    const q = await failOnce();

    expect(await q.tick({}, { scheduledTime: 'noon', by: 'first' })).toMatchObject({ duplicate: false, started: 1 });
  });

  test('is not continued by another invocation', async () => {
    const q = await failOnce();

    expect(await q.tick({}, { scheduledTime: 'noon', by: 'second' })).toMatchObject({ duplicate: true, started: 0 });
  });
});

describe('a client with more shards than the deployment', () => {
  /** Enough tasks for every shard to have some; the last has one. */
  const IDS = named('t', 64);

  async function tickAndWork(q: ReturnType<typeof open>, times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      q.started.length = 0;
      await q.tick();
      for (const { homeShards } of q.started) await q.work(homeShards);
      await q.clock.advance(MINUTE_MS);
    }
  }

  test('has its tasks run by workers that own their shards', async () => {
    const q = open({ shards: 2, clientShards: 5 });
    await q.enqueue(...IDS);

    await tickAndWork(q, 4);

    expect(q.done.toSorted()).toEqual(IDS);
    expect(await q.queues.get(QUEUE)).toMatchObject({ shards: 5 });
  });

  test('has a single task run, in any shard, after a full round of ticks', async () => {
    const q = open({ shards: 1, clientShards: 256 });
    await q.enqueue('alone');

    await tickAndWork(q, 257);

    expect(q.done).toEqual(['alone']);
  });

  test('is reported while its tasks wait', async () => {
    const q = open({ shards: 2, clientShards: 3 });
    await q.enqueue(...IDS);
    await q.tick();

    const report = await q.tick();
    expect(report).toMatchObject({ shards: 3, backlog: IDS.length });
    expect(report.strays).toBe(IDS.filter((id) => shardOf(id, 3) === 2).length);
  });
});

describe('the lanes of a queue with known shards', () => {
  const stamp = { now: 0, nonce: 'before' };

  test.each<{ readonly known: readonly string[]; readonly due: readonly Priority[]; readonly isNoted: boolean }>([
    { known: [], due: [], isNoted: false },
    { known: [], due: ['high'], isNoted: true },
    { known: ['high'], due: ['high'], isNoted: false },
    { known: ['high'], due: ['high', 'low'], isNoted: true },
    { known: ['high', 'low'], due: ['low'], isNoted: false },
    { known: ['high'], due: ['low'], isNoted: true },
  ])('are noted if one is new: %j', async ({ known, due, isNoted }) => {
    const q = open();
    await q.queues.noteUse(QUEUE, undefined, { lanes: new Set(known), shards: 2 }, stamp);
    for (const priority of due) await q.enqueueAt(priority);

    await q.tick();

    const record = await q.queues.get(QUEUE);
    expect(record?.lanes ?? new Set()).toEqual(new Set([...known, ...due]));
    expect(record?.nonce !== 'before').toBe(isNoted);
  });
});

describe('the shards that a queue ever had', () => {
  test('are read if a deployment has fewer', async () => {
    const before = open({ shards: 4 });
    await before.enqueue(...named('t', 32));
    await before.tick();

    const report = await before.tick({ shards: 1 });

    expect(report).toMatchObject({ shards: 4, backlog: 32 });
    expect(new Set(before.started.flatMap(({ homeShards }) => homeShards))).toEqual(new Set([0, 1, 2, 3]));
  });

  test("are the deployment's unless the row names more", async () => {
    const q = open({ shards: 4 });
    await q.queues.change(QUEUE, undefined, { isPaused: true, reason: 'because' }, { now: q.clock.now(), nonce: 'n' });

    await q.tick({ shards: 2 });
    expect(await q.queues.get(QUEUE)).toMatchObject({ shards: 2, isPaused: true, reason: 'because' });

    await q.tick({ shards: 4 });
    expect(await q.queues.get(QUEUE)).toMatchObject({ shards: 4, lanes: undefined });
  });

  test('are at most the maximum, even if the row has a larger number', async () => {
    const q = open({ shards: 1 });
    const stamp = { now: q.clock.now(), nonce: 'n' };
    await q.queues.noteUse(QUEUE, undefined, { lanes: new Set(), shards: 1_000_000 }, stamp);

    expect(await q.tick()).toMatchObject({ shards: 256 });
  });
});

test('counts as many tasks of a key as may run if a client has fewer shards', async () => {
  const q = open({ shards: 8, clientShards: 1 });
  await q.enqueueOfKey(100, ...named('t', 120));

  expect(await q.tick()).toMatchObject({ backlog: 100, started: 10 });
});
