/** A worker with a free slot and one long task, and a waker's announcements to it. In simulated time, over an index that lags. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { IdleWorld } from '../../../../bench/idle-world.ts';
import { IDLE_QUEUE, IDLE_SHARDS, openIdleWorld, silent } from '../../../../bench/idle-world.ts';
import { TABLE } from '../../../../bench/table.ts';
import { createMeter } from '../../../../shared/dynamo/engine/meter.ts';
import { queueKey } from '../../../../shared/dynamo/engine/keys.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import type { Statement } from '../../../../shared/dynamo/engine/statement.ts';
import { updateStatement } from '../../../../shared/dynamo/engine/statement.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { stampOf } from '../../../../shared/core/lease/stamp.ts';
import { sessionTiming } from '../../../../shared/core/lease/timing.ts';
import { SessionHolder } from '../../../../shared/session/keep-alive.ts';
import { defineTask, registerTasks } from '../../../../shared/tasks/task/definition.ts';
import { runWorker } from '../../../../shared/tasks/worker/worker.ts';

let idle: IdleWorld;
let begun: Map<string, number>;
let meter: ReturnType<typeof createMeter>;

beforeEach(() => {
  idle = openIdleWorld();
  begun = new Map();
  meter = createMeter();
});

const glances = (): number => meter.read().byVerb['queue.glance']?.requests ?? 0;

/** Runs a scenario alongside a worker whose one task lasts as long; `left` resolves if the worker exits by itself. */
function beside(
  scenario: (left: Promise<unknown>) => Promise<void>,
  { concurrency = 4, lingerMs = 0, longMs = 3_600_000, hidden = (_id: string): boolean => false } = {},
) {
  const over = new AbortController();
  const registry = registerTasks({
    long: defineTask({ name: 'long', run: () => idle.clock.sleep(longMs, over.signal) }),
    quick: defineTask({ name: 'quick', run: (_: unknown, { id }) => void begun.set(id, idle.clock.now()) }),
  });
  return idle.world.run(async () => {
    await idle.noteLanes('normal');
    await idle.client.enqueue('long', {}, { id: 'long' });
    const { runtime, stores } = idle.placeOf('worker', { onAttempt: (attempt) => meter.onAttempt(attempt) });
    // An index that never shows some tasks: the worker can begin them only through announcements.
    const page: typeof stores.tasks.page = async (partition, query) => {
      const { hints, ...rest } = await stores.tasks.page(partition, query);
      return { ...rest, hints: hints.filter(({ id }) => !hidden(id)) };
    };
    const session = await SessionHolder.create(
      { timing: sessionTiming({ lockDelayMs: 0 }), name: 'worker', node: 'bench', behaviour: 'release' },
      { store: stores.sessions, runtime, gauge: noSkewGauge },
    );
    const ports = { ...stores, tasks: { ...stores.tasks, page }, session, runtime, gauge: noSkewGauge, log: silent };
    const handBack = new AbortController();
    const settings = {
      queue: IDLE_QUEUE,
      shards: IDLE_SHARDS,
      homeShards: Array.from({ length: IDLE_SHARDS }, (_, at) => at),
      concurrency,
      pollMs: 1_250,
      hasDispatcher: true,
      graceMs: 10,
      lingerMs,
      deadlineMonotonicMs: Infinity,
    };
    const working = runWorker(registry, ports, settings, handBack.signal);
    await idle.clock.sleep(1_000);
    await scenario(working);
    over.abort();
    handBack.abort();
    const report = await working;
    await session.end();
    return report;
  });
}

async function announce(...ids: readonly string[]): Promise<void> {
  const record = await idle.stores.queues.get(IDLE_QUEUE);
  if (record === undefined) throw new Error('the queue has no row');
  const at = idle.clock.now();
  const announcement = { at, before: record.announced?.at, ids, workers: 1 };
  expect((await idle.stores.queues.announce(record, announcement, stampOf(idle.runtime))).kind).toBe('applied');
}

test('receives the first announced task while it lingers, and exits in time', async () => {
  const waits: number[] = [];
  let leftAfterMs = NaN;
  const report = await beside(
    async (left) => {
      await idle.clock.sleep(3_000);
      await idle.client.enqueue('quick', {}, { id: 'task' });
      const at = idle.clock.now();
      await announce('task');
      await idle.clock.sleep(300);
      waits.push((begun.get('task') ?? Infinity) - at);
      await left;
      leftAfterMs = idle.clock.now() - at;
    },
    { hidden: (id) => id !== 'long', lingerMs: 20_000, longMs: 500 },
  );

  expect(waits[0]).toBeLessThanOrEqual(250);
  expect(leftAfterMs).toBeGreaterThanOrEqual(20_000);
  expect(leftAfterMs).toBeLessThan(25_000);
  expect(report).toMatchObject({ ended: 'drained', claimed: 2 });
});

describe('a worker beside a long task', () => {
  test('begins what is announced within a quarter of a second, once announcements follow each other', async () => {
    const waits: number[] = [];
    await beside(
      async () => {
        await announce('first');
        for (let nth = 0; nth < 10; nth++) {
          await idle.clock.sleep(6_000);
          await idle.client.enqueue('quick', {}, { id: `t${nth}` });
          const at = idle.clock.now();
          await announce(`t${nth}`);
          await idle.clock.sleep(300);
          waits.push((begun.get(`t${nth}`) ?? Infinity) - at);
        }
      },
      { hidden: (id) => id !== 'long' },
    );

    // The first comes during the five-second announcement poll, too late for that poll.
    expect(waits.filter((wait) => wait <= 250).length).toBeGreaterThanOrEqual(9);
  });

  test('reads the row every five seconds without announcements, and after a single one', async () => {
    await beside(async () => {
      const before = glances();
      await idle.clock.sleep(30_000);
      await announce('gone');
      await idle.clock.sleep(30_000);

      expect(glances() - before).toBeLessThanOrEqual(13);
    });
  });

  test('stops listening 20 seconds after the last announcement', async () => {
    await beside(async () => {
      await announce('one');
      await idle.clock.sleep(6_000);
      await announce('two');
      await idle.clock.sleep(6_000);
      const whileListening = glances();
      await idle.clock.sleep(5_000);
      expect(glances() - whileListening).toBeGreaterThan(40);
      await idle.clock.sleep(20_000);
      const afterwards = glances();
      await idle.clock.sleep(60_000);

      expect(glances() - afterwards).toBeLessThanOrEqual(13);
    });
  });

  test('does not listen while all its places are taken', async () => {
    await beside(
      async () => {
        await announce('one');
        await idle.clock.sleep(1_000);
        const before = glances();
        for (let nth = 0; nth < 10; nth++) {
          await announce(`more${nth}`);
          await idle.clock.sleep(1_000);
        }

        expect(glances() - before).toBeLessThanOrEqual(3);
      },
      { concurrency: 1 },
    );
  });

  test('finds a task by its looks whose announcement was lost, while others are announced', async () => {
    await beside(async () => {
      await announce('one');
      await idle.clock.sleep(1_000);
      await announce('two');
      await idle.client.enqueue('quick', {}, { id: 'unannounced' });
      await idle.clock.sleep(20_000);

      expect([...begun.keys()]).toEqual(['unannounced']);
    });
  });

  test('runs a task once that is announced twice, and none that is missing, delayed or done', async () => {
    const report = await beside(async () => {
      await announce('one');
      await idle.clock.sleep(6_000);
      await announce('two');
      await idle.clock.sleep(6_000);
      await idle.client.enqueue('quick', {}, { id: 'task' });
      await idle.client.enqueue('quick', {}, { id: 'later', runAt: new Date(idle.clock.now() + 3_600_000) });
      await announce('task', 'task', 'later', 'never there');
      await idle.clock.sleep(1_200);
      await announce('task');
      await idle.clock.sleep(1_200);
    });

    expect([...begun.keys()]).toEqual(['task']);
    expect(report).toMatchObject({ claimed: 2, claimsRefused: 0 });
  });

  test.each([
    ['a text', 'text'],
    ['a list', ['task']],
    ['a map without a time', { ids: ['task'], workers: 1 }],
    ['a map with ids that are none', { at: 1, before: 0, ids: [1, ''], workers: 1 }],
    ['a map from far in the future', { at: 9e15, before: 9e15, ids: ['task'], workers: 1 }],
  ])('works on in a queue whose announcement is damaged: %s', async (_, announced) => {
    await beside(async () => {
      await new Sender(idle.world.placeOf('damage')).write(damage(announced), 'nonce');
      expect(await idle.stores.queues.get(IDLE_QUEUE)).toMatchObject({ isPaused: false });
      await idle.client.enqueue('quick', {}, { id: 'task' });
      await idle.clock.sleep(20_000);
    });

    expect([...begun.keys()]).toEqual(['task']);
    expect(glances()).toBeLessThanOrEqual(7);
  });
});

function damage(announced: unknown): Statement<'update'> {
  return updateStatement('queue.damage', {
    table: TABLE,
    key: queueKey(IDLE_QUEUE),
    guard: 'attribute_exists(#pk)',
    effect: 'SET #announced = :announced',
    values: { ':announced': announced },
  });
}
