import { describe, expect, test } from 'vitest';
import type { Workload } from '../../../../shared/operate/cost/workload.ts';
import { estimateCost } from '../../../../shared/operate/cost/estimate.ts';
import { DEFAULT_WORKLOAD } from '../../../../shared/operate/cost/workload.ts';
import { dollarsOf as dollarsOfStanding } from '../../../../shared/operate/cost/standing-cost.ts';
import { PRICES, priceOf } from '../../../../shared/operate/cost/prices.ts';
import { verbTable } from '../../../../shared/operate/cost/units.ts';
import { ConfigurationError } from '../../../../shared/core/errors.ts';

const estimate = (changes: Partial<Workload> = {}) => estimateCost({ ...DEFAULT_WORKLOAD, ...changes });
const dollarsOf = (changes: Partial<Workload>, what: RegExp): number =>
  estimate(changes).parts.find((part) => what.test(part.what))?.dollars ?? NaN;

describe('verbTable', () => {
  const SMALL = { inputBytes: 200, resultBytes: 50, commitItems: 0, deflatedShare: 0.5 };

  test('charges five units for a small task: enqueue 2, claim 1, complete 2', () => {
    const { enqueue, claim, complete, retry, heartbeat } = verbTable(SMALL);

    expect([enqueue, claim, complete, retry, heartbeat].map(({ total }) => total)).toEqual([2, 1, 2, 3, 1]);
    expect(enqueue).toEqual({ table: 1, readyIndex: 1, directoryIndex: 0, total: 2 });
  });
});

describe('estimateCost', () => {
  test('prices a million tasks a day at 5 units each', () => {
    const { writeUnitsPerTask, parts } = estimate({ refusedPerTask: 0 });

    expect(writeUnitsPerTask).toBe(5);
    expect(parts[0]).toMatchObject({ perMonth: 150e6, unit: 'write units' });
    expect(parts[0]?.dollars).toBeCloseTo(93.75);
  });

  test('has each tick look at every lane of every shard, and of two beyond', () => {
    const looks = (workload: Partial<Workload>): number =>
      estimate(workload).parts.find(({ what }) => what === 'ticks: polls')?.perMonth ?? 0;

    const [few, many] = [looks({ shards: 8 }), looks({ shards: 16 })];
    expect(few).toBeCloseTo(43_200 * (6 * 10 * 0.5 + 1.5));
    expect(many - few).toBeCloseTo(43_200 * 6 * 8 * 0.5);
  });

  test('has no wake, session or lingering in a queue that is empty, and bounds wakes of a busy one', () => {
    const { empty, trickle, asGiven } = estimate({
      tasksPerDay: 1e8,
      secondsPerTask: 0.01,
      lingerSeconds: 30,
    }).standing;

    expect(empty.dollars).toMatchObject({ wakes: 0, lingering: 0, 'sessions and permits of workers': 0 });
    expect(empty.dollarsPerMonth).toBe(empty.dollars.ticks);
    expect(trickle.dollars.wakes).toBeGreaterThan(0);
    // Four a second, each a read, an invocation, and a moment of compute.
    expect(asGiven.dollars.wakes).toBeLessThan(30 * 86_400 * 4 * (0.125e-6 + 0.2e-6 + 0.1e-6) + 1);
  });

  test('prices lingering by the time that workers stay, and saves their starts', () => {
    const [none, some] = [estimate({ tasksPerDay: 1_440 }), estimate({ tasksPerDay: 1_440, lingerSeconds: 60 })];

    expect(none.standing.asGiven.dollars.lingering).toBe(0);
    expect(some.standing.asGiven.dollars.lingering).toBeGreaterThan(1);
    const sessions = 'sessions and permits of workers';
    expect(some.standing.asGiven.dollars[sessions]).toBeLessThan(none.standing.asGiven.dollars[sessions]);
    expect(dollarsOf({ tasksPerDay: 1_440, lingerSeconds: 60 }, /lingering: compute/)).toBeGreaterThan(1);
  });

  test('needs as many workers as the busiest time has tasks at work', () => {
    const { tasksInFlightAtPeak, workersAtPeak } = estimate({
      tasksPerDay: 864_000,
      secondsPerTask: 3,
      peakFactor: 7,
      concurrency: 10,
      utilisation: 0.5,
    });

    expect(tasksInFlightAtPeak).toBeCloseTo(210);
    expect(workersAtPeak).toBe(42);
  });

  test('names the limit that is met first, and at how many tasks', () => {
    const few = estimate({ maxWorkers: 1, secondsPerTask: 10 }).limits[0];
    const hot = estimate({ shards: 1, maxWorkers: 10_000, secondsPerTask: 0.001, tasksPerDay: 1e8 }).limits;

    expect(few).toMatchObject({ what: 'maxWorkers = 1' });
    expect(few?.used).toBeGreaterThan(1);
    expect(hot.find(({ what }) => what.startsWith('1 shards'))?.atTasksPerDay).toBeCloseTo(500 * 86_400);
  });

  test.each([
    ['tasksPerDay', 0],
    ['secondsPerTask', NaN],
    ['attemptsPerTask', 0.5],
    ['utilisation', 1.5],
    ['commitItems', -1],
    ['shards', Infinity],
    ['deflatedShare', 0],
    ['lingerSeconds', -1],
    ['burstTasks', -1],
    ['startWithinSeconds', NaN],
    ['inputBytes', 400_000],
    ['refusedCommitsPerTask', -1],
    ['refusedCommitsPerTask', 0.1],
  ] as const)('refuses %s = %s', (figure, value) => {
    expect(() => estimate({ [figure]: value })).toThrow(ConfigurationError);
  });

  test('gives each part its price', () => {
    for (const { perMonth, price, dollars } of estimate().parts) expect(perMonth * price).toBe(dollars);
  });

  test('charges an empty queue with all its alarms $4 a month at most, and each further one of its table $2.80', () => {
    const { first, further, dashboard } = estimate().idle;

    expect(first.dollars).toBeLessThanOrEqual(4);
    expect(further.dollars).toBeLessThanOrEqual(2.8);
    expect(first.dollarsAfterFree).toBeLessThan(first.dollars);
    expect(dashboard).toEqual({ dollars: 3, dollarsAfterFree: 0 });
  });

  test.each(['arm64', 'x86_64'] as const)('prices the compute of functions that stand by for %s', (architecture) => {
    const compute = { writeUnits: 0, readUnits: 0, invocations: 0, gbSeconds: 1e6 };

    expect(dollarsOfStanding(compute, { architecture })).toBeCloseTo(1e6 * priceOf(architecture));
  });

  test('takes the free amount from all lines of one price together', () => {
    const compute = estimate().parts.filter(({ by }) => by === 'arm64');
    const free = PRICES.of.arm64.free * priceOf('arm64');

    const saved = compute.reduce((sum, { dollars, dollarsAfterFree }) => sum + dollars - dollarsAfterFree, 0);
    expect(saved).toBeCloseTo(free);
    expect(estimate({ tasksPerDay: 1 }).parts.find(({ by }) => by === 'arm64')?.dollarsAfterFree).toBe(0);
  });

  test('prices the same tasks elsewhere by their requests and their compute', () => {
    const [batches, single, express, standard] = estimate().alternatives.map(({ dollars }) => Math.round(dollars));

    // 30 million tasks of a second in 512 MB: $200.00 of compute, $6 of invocations, and what moves them.
    expect([single, express, standard]).toEqual([206 + 36, 206 + 30 + 31, 206 + 1_500]);
    expect(batches).toBe(Math.round(200 / 10 / 0.7 + 0.6 + 14.4));
  });

  test('bills for a burst its compute, its invocations, and the sessions and permits of its workers', () => {
    const [workers, seconds, units] = [10, 10 + 0.08, 4];
    const each = (seconds / 2) * priceOf('arm64') + priceOf('invocations') + units * priceOf('writes');

    expect(estimate().burst.dollars).toBeCloseTo(workers * each, 9);
  });

  test('starts as many workers for a burst as plans do, so that a shorter startWithin has the last task begin sooner', () => {
    const burst = (startWithinSeconds: number) => estimate({ startWithinSeconds, maxWorkers: 100 }).burst;

    expect(burst(10)).toMatchObject({ workers: 10, missing: 0, lastBeginsAfterSeconds: 9 });
    expect(burst(2)).toMatchObject({ workers: 50, lastBeginsAfterSeconds: 1 });
    expect(burst(0)).toMatchObject({ workers: 100, lastBeginsAfterSeconds: 0 });
    expect(burst(0).dollars).toBeGreaterThan(burst(10).dollars);
    expect(estimate({ startWithinSeconds: 0 }).burst.missing).toBe(90);
  });

  test('counts X-Ray traces as it samples: the first request of a second, and one in twenty of the others', () => {
    const traces = estimate({ tracing: true }).parts.find(({ by }) => by === 'traces')?.perMonth ?? 0;

    // 9.8 million wakes, nearly four a second.
    expect(traces / 1e6).toBeCloseTo(3, 0);
  });
});
