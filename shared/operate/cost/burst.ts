/** How many workers start for tasks that come all at once, by the rule that ticks and wakes plan with, and what that costs. */
import { wantedWorkers } from '../../tasks/dispatch/plan.ts';
import type { Architecture, Prices } from './prices.ts';
import { priceOf } from './prices.ts';
import { SECONDS } from './standing-cost.ts';
import type { VerbTable } from './verbs.ts';

interface BurstWorkload {
  /** Tasks that come at once. */
  readonly burstTasks: number;
  /** How soon the last of them should begin. */
  readonly startWithinSeconds: number;
  readonly secondsPerTask: number;
  readonly concurrency: number;
  readonly maxWorkers: number;
  readonly memoryMb: number;
  readonly architecture: Architecture;
}

export interface Burst {
  readonly tasks: number;
  readonly workers: number;
  /** How many more would be started if `maxWorkers` allowed them. */
  readonly missing: number;
  /** After the workers have started. */
  readonly lastBeginsAfterSeconds: number;
  /** Cost of the workers: compute, invocations, sessions and permits. */
  readonly dollars: number;
}

/** The queue knows how long its tasks take, and no worker is there. */
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
