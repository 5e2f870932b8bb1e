/**
 * What came into a queue's index and left it between two looks, told from the ids that each of them saw.
 *
 * A truncated look covers a partition up to the last entry that it saw; nothing is said about what lies beyond.
 * So the figures are lower bounds: what came and went between two looks was never seen either.
 */
import type { ReadyHint } from '../../shared/tasks/task/task-store.ts';

/** One partition of the index, as far as a look went. */
export interface PartitionSight {
  readonly hints: readonly ReadyHint[];
  /** There is more behind them. */
  readonly isMore: boolean;
}

export interface Flow {
  readonly arrived: number;
  readonly left: number;
}

/** @param before and after by partition, in the same order */
export function flowBetween(before: readonly PartitionSight[], after: readonly PartitionSight[]): Flow {
  let arrived = 0;
  let left = 0;
  after.forEach((now, partition) => {
    const then = before[partition];
    if (then === undefined) return;
    arrived += countNew(now.hints, then);
    left += countNew(then.hints, now);
  });
  return { arrived, left };
}

/** Entries that the other look would have seen, and has not. */
function countNew(hints: readonly ReadyHint[], other: PartitionSight): number {
  const ids = new Set(other.hints.map(({ id }) => id));
  const coveredUntil = other.isMore ? (other.hints.at(-1)?.readyAt ?? -Infinity) : Infinity;
  return hints.filter(({ id, readyAt }) => readyAt < coveredUntil && !ids.has(id)).length;
}
