/** Calculates how many workers start for a burst of tasks, by the planning rule of ticks and wakes, and what they cost. */
import { wantedWorkers } from '../../tasks/dispatch/plan.ts';
import type { Prices } from './prices.ts';
import { priceOf } from './prices.ts';
import { SECONDS } from './standing-cost.ts';
import type { VerbTable } from './verbs.ts';
import type { Workload } from './workload.ts';

type BurstWorkload = Pick<
  Workload,
  'burstTasks' | 'startWithinSeconds' | 'secondsPerTask' | 'concurrency' | 'maxWorkers' | 'memoryMb' | 'architecture'
>;

export interface Burst {
  readonly tasks: number;
  readonly workers: number;
  /** How many more workers would start without the limit of `maxWorkers`. */
  readonly missing: number;
  /** After the workers have started. */
  readonly lastBeginsAfterSeconds: number;
  /** Cost of the workers: compute, invocations, sessions and permits. */
  readonly dollars: number;
}

/** Assumes that the queue knows how long its tasks take, and that no worker is running. */
export function burstOf(workload: BurstWorkload, verbs: VerbTable, prices: Prices): Burst {
  const { burstTasks: tasks, startWithinSeconds, secondsPerTask, concurrency, maxWorkers } = workload;
  const { workers, missing } = wantedWorkers({ due: tasks, late: 0, tookMs: secondsPerTask * 1000 }, 0, {
    maxWorkers,
    concurrency,
    startWithinMs: startWithinSeconds * 1000,
  });
  const rounds = tasks / Math.max(1, workers * concurrency);
  const billedSeconds = workers * (Math.ceil(rounds) * secondsPerTask + SECONDS.perStart);
  const { createSession, acquirePermit, releasePermit, endSession } = verbs;
  const writeUnits = workers * (createSession.total + acquirePermit.total + releasePermit.total + endSession.total);
  return {
    tasks,
    workers,
    missing,
    lastBeginsAfterSeconds: Math.max(0, Math.ceil(rounds) - 1) * secondsPerTask,
    dollars:
      ((billedSeconds * workload.memoryMb) / 1024) * priceOf(prices, workload.architecture) +
      workers * priceOf(prices, 'invocations') +
      writeUnits * priceOf(prices, 'writes'),
  };
}
