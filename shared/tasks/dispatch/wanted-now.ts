/** The number of workers that a plan would want now, for operators: from index entries alone, without a sample of their rows. */
import type { QueueRecord } from '../task/queue-store.ts';
import type { ReadyEntry } from '../task/task-store.ts';
import { countLate } from './demand.ts';
import { wantedWorkers } from './plan.ts';

interface PermitsInUse {
  /** Permits that live workers hold. */
  readonly permits: number;
  readonly limit: number;
}

/** Returns undefined if no deployed worker has reported its settings yet. */
export function wantedNow(
  record: QueueRecord | undefined,
  due: readonly ReadyEntry[],
  { permits, limit }: PermitsInUse,
  now: number,
): number | undefined {
  if (record?.workerSettings === undefined) return undefined;
  const { workerSettings, tookMs } = record;
  const demand = { due: due.length, late: countLate(due, now, workerSettings), tookMs };
  return wantedWorkers(demand, permits, { ...workerSettings, maxWorkers: limit }).workers;
}
