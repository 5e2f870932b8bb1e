/** A worker that owns some of the shards, while the others have no worker; and its remains when it exits. */
import { setImmediate as drained } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queueKey, shardOf } from '../../../../shared/dynamo/engine/keys.ts';
import { createQueueStore } from '../../../../shared/tasks/rows/dynamo-queue-store.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../../../shared/session/row/dynamo-session-store.ts';
import { createTaskStore } from '../../../../shared/tasks/rows/task/dynamo-task-store.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../../../shared/core/lease/timing.ts';
import type { Clock } from '../../../../shared/core/runtime/clock.ts';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import { SessionHolder } from '../../../../shared/session/keep-alive.ts';
import { TaskClient } from '../../../../shared/tasks/queue/task-client.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { defineTask, registerTasks } from '../../../../shared/tasks/task/definition.ts';
import type { PayloadStore } from '../../../../shared/tasks/task/payload.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { WorkerReport } from '../../../../shared/tasks/worker/run-worker.ts';
import { runWorker } from '../../../../shared/tasks/worker/run-worker.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { memoryDynamo } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';

const TABLE = 'leasehold';
const QUEUE = 'default';
const SHARDS = 8;
const GRACE_MS = 4_000;
const HOME = [0, 1];
const ALL = Array.from({ length: SHARDS }, (_, shard) => shard);
const never = new Promise<never>(ignore);

interface WorkOptions {
  readonly home?: readonly number[];
  readonly handBack?: AbortSignal;
  readonly payloads?: PayloadStore;
}

function open() {
  const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
  let sleeping = 0;
  const counted: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => {
      sleeping++;
      return clock.sleep(ms, signal).finally(() => {
        sleeping--;
      });
    },
    after: (ms, call) => clock.after(ms, call),
  };
  const dynamo = memoryDynamo(TABLE, () => clock.now());
  const runtime = { clock: counted, random: { next: () => 0.5 }, ids: systemIds };
  const sender = new Sender({ driver: simulatedDriver(dynamo), runtime });
  const tasks = createTaskStore(sender, { table: TABLE, shards: SHARDS });
  const [sessions, queues] = [createSessionStore(sender, TABLE), createQueueStore(sender, TABLE)];
  const work = async (
    definitions: Readonly<Record<string, unknown>>,
    { home = HOME, handBack = new AbortController().signal, payloads }: WorkOptions = {},
  ): Promise<WorkerReport> => {
    const timing = sessionTiming({ ttlMs: 30_000, heartbeatMs: 10_000, lockDelayMs: 0 });
    const session = await SessionHolder.create(
      { timing, name: 'test', node: 'test', behaviour: 'release' },
      { store: sessions, runtime, gauge: noSkewGauge },
    );
    const settings = {
      queue: QUEUE,
      shards: SHARDS,
      homeShards: home,
      concurrency: 1,
      pollMs: 1_000,
      graceMs: GRACE_MS,
      deadlineMonotonicMs: Infinity,
    };
    const ports = { tasks, sessions, queues, session, runtime, gauge: noSkewGauge, log: silent, payloads };
    const report = await runWorker(registerTasks(definitions), ports, settings, handBack);
    await session.end();
    return report;
  };
  return {
    clock,
    dynamo,
    runtime,
    tasks,
    queues,
    client: (payloads?: PayloadStore) => new TaskClient({ store: tasks, runtime }, { queue: QUEUE, payloads }),
    work: (...args: Parameters<typeof work>) => clock.runUntil(work(...args), () => true),
    sleeping: () => sleeping,
  };
}

/** An id that lies in one of the shards. */
function idIn(shards: readonly number[]): string {
  for (let n = 0; ; n++) if (shards.includes(shardOf(`p${n}`, SHARDS))) return `p${n}`;
}

const child = defineTask({ name: 'child', run: () => undefined });
const CHILDREN = Array.from({ length: 12 }, (_, n) => spawn(child, {}, { id: `c${n}` }));

test.each([
  { what: 'spawned', follow: (task: TaskContext) => task.commit(undefined, [], { spawn: CHILDREN }) },
  {
    what: 'waited for',
    follow: (task: TaskContext) => (task.children === undefined ? task.waitFor(CHILDREN) : undefined),
  },
])('tasks that were $what by its own are done before it goes home, whatever shard they are in', async ({ follow }) => {
  const q = open();
  const parent = defineTask({
    name: 'parent',
    run: async (_, task) => {
      await q.runtime.clock.sleep(30_000);
      return follow(task);
    },
  });
  await q.client().enqueue(parent, {}, { id: idIn(HOME) });

  const report = await q.work({ parent, child });

  expect(report.ended).toBe('drained');
  expect(
    (await q.tasks.getMany(CHILDREN.map(({ options }) => ({ queue: QUEUE, id: options.id ?? '' })))).map(
      ({ state }) => state,
    ),
  ).toEqual(CHILDREN.map(() => 'done'));
});

test("polls an unused lane as soon as the queue's row names it", async () => {
  const q = open();
  const client = q.client();
  const startedAt = new Map<string, number>();
  let enqueuedAt = 0;
  const step = defineTask({
    name: 'step',
    run: async (_, { id }) => {
      startedAt.set(id, q.clock.now());
      if (startedAt.size === 5) {
        enqueuedAt = q.clock.now();
        await client.enqueue('step', {}, { id: 'urgent', priority: 'high' });
        const record = await q.queues.get(QUEUE);
        await q.queues.noteUse(
          QUEUE,
          record,
          { lanes: new Set(['high']), shards: SHARDS },
          { now: q.clock.now(), nonce: 'tick' },
        );
      }
      await q.runtime.clock.sleep(1_000);
    },
  });
  for (let n = 0; n < 90; n++)
    await client.enqueue(step, {}, { id: `n${n}`, delay: new Date(q.clock.now() - 1_000 + n) });
  const use = { lanes: new Set(['normal']), shards: SHARDS };
  await q.queues.noteUse(QUEUE, undefined, use, { now: q.clock.now(), nonce: 'first' });

  await q.work({ step }, { home: ALL });

  const waitedMs = (startedAt.get('urgent') ?? Infinity) - enqueuedAt;
  // The row is glanced at every five seconds, and a task takes one.
  expect(waitedMs).toBeLessThanOrEqual(8_000);
});

test('leaves no timer behind, even if its code still had time to stop', async () => {
  const q = open();
  const handBack = new AbortController();
  const obedient = defineTask({
    name: 'obedient',
    run: async (_, { signal }) => {
      handBack.abort(new Error('enough'));
      await q.runtime.clock.sleep(60_000, signal);
      signal.throwIfAborted();
    },
  });
  await q.client().enqueue(obedient, {}, { id: idIn(HOME) });

  await q.work({ obedient }, { handBack: handBack.signal });
  await drained();

  expect(q.sleeping()).toBe(0);
});

test('treats a queue with a damaged row as paused, and reports the damage', async () => {
  const q = open();
  await q.client().enqueue(child, {}, { id: idIn(HOME) });
  await q.queues.change(QUEUE, undefined, { isPaused: false, reason: '' }, { now: q.clock.now(), nonce: 'n' });
  q.dynamo.apply('update', { TableName: TABLE, Key: queueKey(QUEUE), UpdateExpression: 'REMOVE paused' });

  expect(await q.work({ child })).toMatchObject({ ended: 'paused', claimed: 0, damaged: 1 });
});

test('waits for an unresponsive payload store only during the grace period', async () => {
  const q = open();
  const kept = new Map<string, string>();
  let signal: AbortSignal | undefined;
  const payloads: PayloadStore = {
    put: (name, text) => Promise.resolve(kept.set(name, text)).then(() => name),
    get: (name) => Promise.resolve(kept.get(name)),
    delete: (_, options) => {
      signal = options?.signal;
      return never;
    },
  };
  await q.client(payloads).enqueue(child, { text: 'x'.repeat(500_000) }, { id: idIn(HOME) });
  const begun = q.clock.monotonic();

  const report = await q.work({ child }, { payloads });

  expect(report).toMatchObject({ ended: 'drained', settled: { done: 1 } });
  expect(signal?.aborted).toBe(true);
  expect(q.clock.monotonic() - begun).toBeLessThan(GRACE_MS + 10_000);
});

function ignore(): undefined {
  return undefined;
}
