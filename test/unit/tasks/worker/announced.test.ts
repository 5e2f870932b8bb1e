/** A worker that receives announcements of new tasks, or whose own tasks add some; in simulated time. */
import { beforeEach, expect, test } from 'vitest';
import type { IdleWorld } from '../../../../bench/idle-world.ts';
import { IDLE_QUEUE, IDLE_SHARDS, openIdleWorld } from '../../../../bench/idle-world.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../../../shared/core/lease/timing.ts';
import type { SessionHolder } from '../../../../shared/session/keep-alive.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { defineTask, registerTasks } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { runWorker } from '../../../../shared/tasks/worker/run-worker.ts';
import { openHolder } from '../../../support/open-holder.ts';

let idle: IdleWorld;
let begun: Map<string, number>;
let announce: (ids: readonly string[]) => void;

beforeEach(() => {
  idle = openIdleWorld();
  begun = new Map();
});

const SETTINGS = {
  queue: IDLE_QUEUE,
  shards: IDLE_SHARDS,
  homeShards: Array.from({ length: IDLE_SHARDS }, (_, at) => at),
  concurrency: 2,
  pollMs: 1_250,
  hasDispatcher: true,
  graceMs: 1_000,
  deadlineMonotonicMs: Infinity,
};

function openSession(): Promise<SessionHolder> {
  const { runtime, stores } = idle.placeOf('worker');
  return openHolder(
    { timing: sessionTiming({ lockDelayMs: 0 }), name: 'worker', node: 'bench' },
    { store: stores.sessions, runtime },
  );
}

/** Runs a scenario with a worker of some slots; `long` takes one of them for the whole scenario. */
function beside(
  scenario: () => Promise<void>,
  { concurrency = 2, hidden = (_id: string): boolean => false, quickMs = 0 } = {},
) {
  const over = new AbortController();
  const registry = registerTasks({
    long: defineTask({ name: 'long', run: () => idle.clock.sleep(3_600_000, over.signal) }),
    quick: defineTask({
      name: 'quick',
      run: async (_: unknown, { id }) => {
        begun.set(id, idle.clock.now());
        if (quickMs > 0) await idle.clock.sleep(quickMs);
      },
    }),
  });
  return idle.world.run(async () => {
    await idle.noteLanes('normal');
    await idle.client.enqueue('long', {}, { id: 'long' });
    const { runtime, stores } = idle.placeOf('worker');
    const page: typeof stores.tasks.page = async (partition, query) => {
      const { hints, ...rest } = await stores.tasks.page(partition, query);
      return { ...rest, hints: hints.filter(({ id }) => !hidden(id)) };
    };
    const session = await openSession();
    const onEnqueued = (listener: (ids?: readonly string[]) => void): (() => void) => {
      announce = listener;
      return () => undefined;
    };
    const ports = { ...stores, tasks: { ...stores.tasks, page }, session, runtime, gauge: noSkewGauge, onEnqueued };
    const handBack = new AbortController();
    const settings = { ...SETTINGS, concurrency, lingerMs: Infinity };
    const working = runWorker(registry, { ...ports, log: silent }, settings, handBack.signal);
    await idle.clock.sleep(1_000);
    await scenario();
    over.abort();
    handBack.abort();
    const report = await working;
    await session.end();
    return report;
  });
}

async function enqueue(id: string, options: EnqueueOptions = {}): Promise<void> {
  await idle.client.enqueue('quick', {}, { id, ...options });
}

test('starts an announced task as soon as its row is read and claimed, even if the index does not show it', async () => {
  const waits: number[] = [];
  await beside(
    async () => {
      for (let nth = 0; nth < 10; nth++) {
        await idle.clock.sleep(6_000);
        await enqueue(`t${nth}`);
        const at = idle.clock.now();
        announce([`t${nth}`]);
        await idle.clock.sleep(300);
        waits.push((begun.get(`t${nth}`) ?? Infinity) - at);
      }
    },
    { hidden: (id) => id !== 'long' },
  );

  // A poll that is due then, a read and a claim, of up to 10 ms each.
  expect(Math.max(...waits)).toBeLessThanOrEqual(40);
});

test('takes tasks in the index before announced ones', async () => {
  await beside(
    async () => {
      for (let nth = 0; nth < 20; nth++) await enqueue(`waits${nth}`);
      await idle.clock.sleep(500);
      await enqueue('heard');
      announce(['heard']);
      await idle.clock.sleep(20_000);
    },
    { quickMs: 300, hidden: (id) => id === 'heard' },
  );

  expect([...begun.keys()]).toHaveLength(21);
  expect([...begun.keys()].at(-1)).toBe('heard');
});

test('takes announced tasks by priority', async () => {
  await beside(
    async () => {
      await enqueue('low', { priority: 'low' });
      await enqueue('normal');
      await enqueue('high', { priority: 'high' });
      announce(['low', 'normal', 'high']);
      await idle.clock.sleep(5_000);
    },
    { quickMs: 50, hidden: (id) => id !== 'long' },
  );

  expect([...begun.keys()]).toEqual(['high', 'normal', 'low']);
});

const child = defineTask({ name: 'child', run: () => undefined });
const CHILDREN = Array.from({ length: 20 }, (_, n) => spawn(child, n, { priority: 'high', tenant: 'acme' }));

test.each<[string, number, (context: TaskContext) => Promise<unknown>]>([
  ['commits', 1, (context) => context.commit(null, [], { spawn: CHILDREN })],
  ['waits for', 2, (context) => (context.children === undefined ? context.waitFor(CHILDREN) : Promise.resolve())],
])('runs what a task %s in another lane before it exits', async (_how, claimsOfParent, add) => {
  const registry = registerTasks({ child, parent: defineTask({ name: 'parent', run: (_, context) => add(context) }) });

  const report = await idle.world.run(async () => {
    await idle.noteLanes('normal');
    await idle.client.enqueue('parent', {}, { id: 'parent' });
    const { runtime, stores } = idle.placeOf('worker');
    await using session = await openSession();
    const ports = { ...stores, session, runtime, gauge: noSkewGauge, log: silent };
    return await runWorker(registry, ports, SETTINGS, new AbortController().signal);
  });

  expect(report).toMatchObject({ ended: 'drained', claimed: claimsOfParent + CHILDREN.length });
});
