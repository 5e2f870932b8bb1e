/** A long-lived worker: its cost while idle, and how soon it finds new tasks. In simulated time. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { IdleWorld } from '../../../bench/idle-world.ts';
import { IDLE_QUEUE, IDLE_SHARDS, openIdleWorld } from '../../../bench/idle-world.ts';
import { silent } from '../../../shared/testing/silent-log.ts';
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import { stampOf } from '../../../shared/core/lease/write.ts';
import { sessionTiming } from '../../../shared/core/lease/timing.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { ScheduleClient } from '../../../shared/tasks/schedule/schedule-client.ts';
import { defineTask, registerTasks } from '../../../shared/tasks/task/definition.ts';
import { runWorker } from '../../../shared/tasks/worker/run-worker.ts';
import { openHolder } from '../../support/open-holder.ts';

const MINUTE_MS = 60_000;
/** All shards of one lane once, in the first idle minute and afterwards, jitter included. */
const ROUND_MS = { first: 1_600, idle: 9_000 };

/** How long each task waited from the moment that it was due. */
let waited: number[];
let idle: IdleWorld;

beforeEach(() => {
  waited = [];
  idle = openIdleWorld();
});

function definitions() {
  const noop = defineTask({
    name: 'noop',
    run: ({ dueAt }: { readonly dueAt: number }) => void waited.push(idle.clock.now() - dueAt),
  });
  return { noop };
}

/** Runs a scenario alongside a long-lived worker. */
function beside(scenario: () => Promise<void>): Promise<void> {
  return idle.world.run(async () => {
    const handBack = new AbortController();
    const standing = idle.stand(definitions(), handBack.signal);
    try {
      await scenario();
    } finally {
      handBack.abort();
      await standing;
    }
  });
}

async function enqueue(count: number, options: EnqueueOptions & { readonly delayMs?: number } = {}): Promise<void> {
  const { delayMs = 0, ...others } = options;
  for (let n = 0; n < count; n++) {
    const dueAt = idle.clock.now() + delayMs;
    await idle.client.enqueue('noop', { dueAt }, { ...others, delay: new Date(dueAt) });
  }
}

describe('a long-lived worker', () => {
  test.each([{ lanes: [] }, { lanes: ['normal'] }])(
    'pays 6 read units a second in its first idle minute and 1.6 afterwards, with lanes %o noted',
    async ({ lanes }) => {
      if (lanes.length > 0) await idle.world.run(() => idle.noteLanes(...lanes));
      await beside(async () => {
        await idle.clock.sleep(500);
        const begun = idle.meter.read();
        await idle.clock.sleep(MINUTE_MS);
        const minute = idle.meter.read();
        await idle.clock.sleep(2 * MINUTE_MS);
        const later = idle.meter.read();

        expect((minute.readUnits - begun.readUnits) / 60).toBeLessThanOrEqual(6);
        expect((minute.writeUnits - begun.writeUnits) / 60).toBeLessThanOrEqual(0.2);
        expect((later.readUnits - minute.readUnits) / 120).toBeLessThanOrEqual(1.65);
        expect((later.writeUnits - minute.writeUnits) / 120).toBeLessThanOrEqual(0.2);
      });
    },
  );

  test('finds tasks of each idle shard within one round of polls, and a whole burst with its first task', async () => {
    await beside(async () => {
      await idle.clock.sleep(2 * MINUTE_MS);
      await enqueue(40);
      await idle.clock.sleep(2 * ROUND_MS.idle);
    });

    expect(waited).toHaveLength(40);
    expect(Math.max(...waited)).toBeLessThan(ROUND_MS.idle);
  });

  test.each([
    { lane: 'high', options: { priority: 'high' } },
    { lane: 'normal groups', options: { tenant: 'acme' } },
    { lane: 'low groups', options: { tenant: 'acme', priority: 'low' } },
  ] as const)(
    'finds the first task in lane $lane within 100 s of its own, and others of it in turn',
    async ({ options }) => {
      await beside(async () => {
        await idle.clock.sleep(10_000);
        await enqueue(1, options);
        await idle.clock.sleep(130_000);

        expect(waited).toHaveLength(1);
        expect(Math.max(...waited)).toBeLessThan(125_000);

        waited = [];
        await enqueue(3, options);
        await idle.clock.sleep(2 * ROUND_MS.idle);
      });

      expect(waited).toHaveLength(3);
      expect(Math.max(...waited)).toBeLessThan(2 * ROUND_MS.idle);
    },
  );

  test('polls nothing while its queue is paused, and continues once it is open', async () => {
    const pause = async (isPaused: boolean): Promise<void> => {
      const observed = await idle.stores.queues.get(IDLE_QUEUE);
      await idle.stores.queues.change(IDLE_QUEUE, observed, { isPaused, reason: 'test' }, stampOf(idle.runtime));
    };
    await beside(async () => {
      await idle.clock.sleep(1_000);
      await pause(true);
      await idle.clock.sleep(6_000);
      await enqueue(1);
      const before = idle.meter.read().byVerb['task.page']?.requests ?? 0;
      await idle.clock.sleep(MINUTE_MS);

      expect(idle.meter.read().byVerb['task.page']?.requests).toBe(before);
      expect(waited).toEqual([]);

      waited = [];
      await pause(false);
      await idle.clock.sleep(7_000 + ROUND_MS.idle);
    });

    expect(waited).toHaveLength(1);
  });

  test("serves shards that the queue's row counts later", async () => {
    idle = openIdleWorld({ clientShards: 2 * IDLE_SHARDS });
    await beside(async () => {
      await idle.clock.sleep(1_000);
      await idle.noteLanes('normal');
      await idle.clock.sleep(6_000);
      await enqueue(32);
      await idle.clock.sleep(2 * ROUND_MS.first);
    });

    expect(waited).toHaveLength(32);
  });

  test('begins a recurring task within seconds of its minute, whatever it has found before', async () => {
    const schedules = new ScheduleClient(
      { schedules: idle.stores.schedules, runtime: idle.runtime },
      { queue: IDLE_QUEUE },
    );
    const startedAt: number[] = [];
    const noop = defineTask({ name: 'noop', run: () => void startedAt.push(idle.clock.now() % MINUTE_MS) });
    await idle.world.run(async () => {
      await schedules.define('each minute', 'noop', {}, { cron: '* * * * *' });
      const handBack = new AbortController();
      const standing = idle.stand({ noop }, handBack.signal);
      await idle.clock.sleep(2 * MINUTE_MS + 10_000);
      handBack.abort();
      await standing;
    });

    expect(startedAt).toHaveLength(2);
    expect(Math.max(...startedAt)).toBeLessThan(6_000);
  });

  test('follows a schedule of each second, whose late occurrences are skipped', async () => {
    const schedules = new ScheduleClient(
      { schedules: idle.stores.schedules, runtime: idle.runtime },
      { queue: IDLE_QUEUE },
    );
    const done = { last: 0, skip: 0 };
    const noop = defineTask({
      name: 'noop',
      run(_: unknown, { id }) {
        done[id.startsWith('last') ? 'last' : 'skip']++;
      },
    });
    await idle.world.run(async () => {
      await schedules.define('last', 'noop', {}, { cron: '* * * * * *', missed: 'last' });
      await schedules.define('skip', 'noop', {}, { cron: '* * * * * *', missed: 'skip', tolerance: '500ms' });
      const handBack = new AbortController();
      const standing = idle.stand({ noop }, handBack.signal);
      await idle.clock.sleep(MINUTE_MS);
      handBack.abort();
      await standing;
    });

    expect(done.last).toBeGreaterThan(30);
    expect(done.skip).toBeGreaterThan(5);
  });
});

describe('a worker that exits when empty', () => {
  const work = async (settings: { readonly lingerMs?: number }): Promise<{ readonly queries: number }> => {
    const { runtime, stores } = idle.placeOf('worker');
    const session = await openHolder(
      { timing: sessionTiming({ lockDelayMs: 0 }), name: 'worker', node: 'test' },
      { store: stores.sessions, runtime },
    );
    const long = defineTask({ name: 'long', run: () => idle.clock.sleep(20_000) });
    const ports = { ...stores, session, runtime, gauge: noSkewGauge, log: silent };
    const homeShards = Array.from({ length: IDLE_SHARDS }, (_, shard) => shard);
    const where = { queue: IDLE_QUEUE, shards: IDLE_SHARDS, homeShards, concurrency: 10 };
    const when = { pollMs: 1_250, graceMs: 1_000, deadlineMonotonicMs: Infinity, hasDispatcher: true, ...settings };
    await runWorker(
      registerTasks({ long, ...definitions() }),
      ports,
      { ...where, ...when },
      new AbortController().signal,
    );
    await session.end();
    const { byVerb } = idle.meter.read();
    const queries = ['task.page', 'task.pageOfGroups'];
    return { queries: queries.reduce((sum, verb) => sum + (byVerb[verb]?.requests ?? 0), 0) };
  };

  test('sends at most 120 queries while it is busy with one task of 20 s', async () => {
    await idle.world.run(async () => {
      await idle.noteLanes('normal');
      await idle.client.enqueue('long', {}, { id: 'long' });

      expect((await work({})).queries).toBeLessThanOrEqual(120);
    });
  });

  test('finds tasks within half a second during a steady flow, next to a running one', async () => {
    await idle.world.run(async () => {
      await idle.noteLanes('normal');
      await idle.client.enqueue('long', {}, { id: 'long' });
      const working = work({});
      await idle.clock.sleep(1_000);
      for (let n = 0; n < 12; n++) {
        await enqueue(1);
        await idle.clock.sleep(1_100);
      }
      await working;

      expect(waited).toHaveLength(12);
      // The first has to be met in its turn.
      expect(waited.toSorted((one, other) => one - other)[5]).toBeLessThan(500);
    });
  });
});
