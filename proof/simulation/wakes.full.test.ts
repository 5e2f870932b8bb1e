/**
 * Lost and duplicate wakes: the schedule is the safety net, and permits say who may work.
 * Lost, late or doubled, they change when tasks run, not which.
 */
import { describe, expect, test } from 'vitest';
import { defineTask, registerTasks } from '../../shared/tasks/task/definition.ts';
import type { FleetSettings } from '../../bench/woken-fleet.ts';
import { MODELLED } from '../../bench/latencies.ts';
import { WokenFleet } from '../../bench/woken-fleet.ts';

const MINUTE_MS = 60_000;

function open(settings: Partial<FleetSettings> & { readonly seed: bigint }, runMs = 0) {
  const runs = new Map<string, number>();
  const state: { fleet?: WokenFleet } = {};
  const work = defineTask({
    name: 'work',
    run: async (_: unknown, { id }) => {
      runs.set(id, (runs.get(id) ?? 0) + 1);
      const { runtime } = state.fleet!.place(`code-${id}`);
      if (runMs > 0) await runtime.clock.sleep(runMs);
    },
  });
  const fleet = new WokenFleet({
    registry: registerTasks({ work }),
    maxWorkers: 4,
    startWithinMs: 10_000,
    tickEveryMs: MINUTE_MS,
    latencies: MODELLED,
    ...settings,
  });
  state.fleet = fleet;
  const done = async (ids: readonly string[]): Promise<void> => {
    const { clock } = fleet.place('onlooker').runtime;
    for (const id of ids) {
      const outcome = await fleet.client.result(id, { wait: '10m' });
      if (outcome.kind !== 'done') throw new Error(`${id} is ${outcome.task.state} at ${clock.now()}`);
    }
  };
  return { fleet, runs, work, done };
}

/** The most moments within any second. */
function mostInASecond(moments: readonly number[]): number {
  const sorted = moments.toSorted((one, other) => one - other);
  return Math.max(0, ...sorted.map((from, at) => sorted.slice(at).filter((moment) => moment < from + 1_000).length));
}

describe('when every wake is dropped', () => {
  test.each([1n, 2n, 3n])('loses nothing, and the next tick completes all tasks (seed %s)', async (seed) => {
    const { fleet, runs, work, done } = open({ seed, wakes: 'dropped' });
    const ids = Array.from({ length: 50 }, (_, nth) => `t${nth}`);
    await fleet.run(Promise.all(ids.map((id) => fleet.client.enqueue(work, null, { id }))));

    await fleet.run(done(ids));

    expect(fleet.wakes).toEqual([]);
    expect(fleet.timeline.now).toBeGreaterThan(MINUTE_MS);
    expect(fleet.timeline.now).toBeLessThan(MINUTE_MS + 10_000);
    expect([...runs.values()].every((times) => times === 1)).toBe(true);
    expect(runs.size).toBe(50);
  });
});

describe('when every wake is doubled, and a thousand producers enqueue', () => {
  test.each([
    [4n, 1],
    [5n, 4],
  ])(
    'no more workers are at work than there may be, and invocations are bounded by the shards of the stream (seed %s, %i shards)',
    async (seed, streamShards) => {
      const { fleet, runs, work, done } = open({ seed, streamShards, wakes: 'doubled' }, 400);
      const producers = Array.from({ length: 1_000 }, (_, nth) => fleet.place(`producer-${nth}`).runtime);
      const ids = producers.map((_, nth) => `t${nth}`);

      await fleet.run(
        Promise.all(
          producers.map(async ({ clock, random }, nth) => {
            await clock.sleep(random.next() * 20_000);
            await fleet.client.enqueue(work, null, { id: `t${nth}` });
          }),
        ),
      );
      await fleet.run(done(ids));

      expect(fleet.mostWorkers).toBeLessThanOrEqual(4);
      // Each shard starts at most what the backlog justifies, and then nothing for a second; a tick may come between.
      expect(mostInASecond(fleet.invocations)).toBeLessThanOrEqual(4 * (streamShards + 1));
      expect(fleet.invocations.length).toBeLessThan(200);
      expect(runs.size).toBe(1_000);
      expect([...runs.values()].every((times) => times === 1)).toBe(true);
      expect(fleet.timeline.now).toBeLessThan(MINUTE_MS);
    },
  );
});

describe('with live workers', () => {
  const LATE = { ...MODELLED, streamMs: { p50: 8_000, p99: 30_000 } };
  const median = (waits: readonly number[]): number => waits.toSorted((one, other) => one - other)[waits.length >> 1]!;

  /** 60 tasks, about one a second, alongside long ones that keep `workers` workers busy. */
  async function besideLongTasks(settings: Partial<FleetSettings> & { readonly seed: bigint }, workers: number) {
    const waits: number[] = [];
    const state: { fleet?: WokenFleet } = {};
    const over = new AbortController();
    const enqueuedAt = new Map<string, number>();
    const long = defineTask({
      name: 'long',
      run: async (_: unknown, { id }) => {
        const { clock } = state.fleet!.place(`code-${id}`).runtime;
        await clock.sleep(3_600_000, over.signal);
      },
    });
    const runs = new Map<string, number>();
    const work = defineTask({
      name: 'work',
      run: (_: unknown, { id }) => {
        runs.set(id, (runs.get(id) ?? 0) + 1);
        waits.push(state.fleet!.timeline.now - (enqueuedAt.get(id) ?? NaN));
      },
    });
    const fleet = new WokenFleet({
      registry: registerTasks({ long, work }),
      maxWorkers: workers,
      planConcurrency: 1,
      startWithinMs: 0,
      tickEveryMs: MINUTE_MS,
      latencies: MODELLED,
      ...settings,
    });
    state.fleet = fleet;
    const { clock, random } = fleet.place('user').runtime;
    const ids = Array.from({ length: 60 }, (_, nth) => `t${nth}`);
    await fleet.run(
      (async () => {
        for (let nth = 0; nth < workers; nth++) await fleet.client.enqueue(long, null, { id: `long-${nth}` });
        // Until a tick or two have started them all.
        await clock.sleep(2.5 * MINUTE_MS);
        for (const id of ids) {
          await clock.sleep(500 + 1_000 * random.next());
          enqueuedAt.set(id, fleet.timeline.now);
          await fleet.client.enqueue(work, null, { id });
        }
        for (const id of ids) {
          const outcome = await fleet.client.result(id, { wait: '10m' });
          if (outcome.kind !== 'done') throw new Error(`${id} is ${outcome.kind}`);
        }
        over.abort();
        await clock.sleep(MINUTE_MS);
      })(),
    );
    return { fleet, runs, medianMs: median(waits) };
  }

  test.each([
    [{ seed: 11n }, 1],
    [{ seed: 12n, wakes: 'doubled', streamShards: 4 }, 1],
    [{ seed: 13n }, 4],
    [{ seed: 14n, wakes: 'doubled', streamShards: 4 }, 4],
  ] as const)(
    'half of the tasks begin within a second, and few claims are refused (%o, %i workers)',
    async (settings, workers) => {
      const { fleet, runs, medianMs } = await besideLongTasks(settings, workers);

      expect(fleet.mostWorkers).toBe(workers);
      expect(runs.size).toBe(60);
      expect([...runs.values()].every((times) => times === 1)).toBe(true);
      expect(medianMs).toBeLessThan(1_000);
      expect(fleet.claimsRefused).toBeLessThanOrEqual(60 / 5);
    },
  );

  test.each([
    ['lost', { seed: 15n, wakes: 'dropped' }],
    ['late by seconds', { seed: 16n, latencies: LATE }],
    ['late by seconds and doubled', { seed: 17n, latencies: LATE, wakes: 'doubled', streamShards: 4 }],
  ] as const)('all tasks are done once if wakes are %s', async (_, settings) => {
    const { fleet, runs } = await besideLongTasks(settings, 2);

    expect(runs.size).toBe(60);
    expect([...runs.values()].every((times) => times === 1)).toBe(true);
    expect(fleet.timeline.now).toBeLessThan(6 * MINUTE_MS);
  });
});

test('a task that is enqueued between ticks is begun within two seconds, though its index lags', async () => {
  const { fleet, runs, work } = open({ seed: 6n });
  await fleet.run(fleet.place('idle').runtime.clock.sleep(20_000));

  await fleet.run(fleet.client.enqueue(work, null, { id: 't' }));
  await fleet.run(fleet.place('onlooker').runtime.clock.sleep(2_000));

  expect(runs).toEqual(new Map([['t', 1]]));
});
