/** Compares `leasehold cost` for a queue with little work with the same queue's requests in simulated time. */
import { describe, expect, test } from 'vitest';
import { measureDeployed } from '../../../../bench/idle.ts';
import { estimateCost } from '../../../../shared/operate/cost/estimate.ts';
import { DEFAULT_WORKLOAD } from '../../../../shared/operate/cost/workload.ts';
import { priceOf } from '../../../../shared/operate/cost/prices.ts';

const SECONDS_PER_MONTH = 30 * 86_400;

/** A month's dollars for everything except enqueues, rows kept, and the compute of task code. */
function estimatedDollars(tasksPerDay: number): number {
  const { standing, parts, verbs } = estimateCost({ ...DEFAULT_WORKLOAD, tasksPerDay, secondsPerTask: 0.001 });
  const ofTasks = parts.slice(0, 2).reduce((sum, { dollars }) => sum + dollars, 0);
  const enqueues = tasksPerDay * 30 * verbs.enqueue.total * priceOf('writes');
  return standing.asGiven.dollarsPerMonth + ofTasks - enqueues;
}

async function measuredDollars(load: 'empty' | 'trickle'): Promise<number> {
  const { writeUnits, readUnits, invocations, gbSeconds, seconds } = await measureDeployed(load);
  const spent =
    writeUnits * priceOf('writes') +
    readUnits * priceOf('reads') +
    invocations * priceOf('invocations') +
    gbSeconds * priceOf('arm64');
  return (spent / seconds) * SECONDS_PER_MONTH;
}

describe('the monthly cost of a deployed queue', () => {
  test.each([
    ['empty', 1],
    ['trickle', 0.9 * 1_440],
  ] as const)('is estimated within a tenth of what it is measured to be: %s', async (load, tasksPerDay) => {
    const measured = await measuredDollars(load);

    const estimated = estimatedDollars(tasksPerDay);

    expect(estimated / measured).toBeGreaterThan(0.9);
    expect(estimated / measured).toBeLessThan(1.1);
  });
});
