/** Wakes that never come, and wakes that come twice: the schedule is the safety net, and permits say who may work. */
import { describe, expect, test } from 'vitest';
import { defineTask, registerTasks } from '../../shared/task/definition.ts';
import type { FleetSettings } from '../../bench/woken-fleet.ts';
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
    ...{ registry: registerTasks({ work }), maxWorkers: 4, tasksPerWorker: 20, tickEveryMs: MINUTE_MS },
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
  test.each([1n, 2n, 3n])('nothing is lost, and the next tick has all tasks done (seed %s)', async (seed) => {
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

test('a task that is enqueued between ticks is begun within two seconds, though its index lags', async () => {
  const { fleet, runs, work } = open({ seed: 6n });
  await fleet.run(fleet.place('idle').runtime.clock.sleep(20_000));

  await fleet.run(fleet.client.enqueue(work, null, { id: 't' }));
  await fleet.run(fleet.place('onlooker').runtime.clock.sleep(2_000));

  expect(runs).toEqual(new Map([['t', 1]]));
});
