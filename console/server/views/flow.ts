/**
 * Counts the tasks that entered and left a queue's index between two polls, by the ids that each poll saw.
 * `RecentFlow` computes rates over the latest polls, so it still shows 100 ends of a moment ago.
 *
 * A truncated poll covers a partition up to the last entry that it saw, and says nothing about the rest.
 * So the figures are lower bounds: tasks that came and went between two polls were never seen either.
 */
import type { ReadyEntry } from '../../../shared/tasks/task/task-store.ts';

/** The polled part of one partition of the index. */
export interface PartitionSight {
  readonly hints: readonly ReadyEntry[];
  /** There is more behind them. */
  readonly isMore: boolean;
}

interface Flow {
  readonly arrived: number;
  readonly left: number;
}

/** Rates cover the polls of this time. */
const RATE_MS = 30_000;

export class RecentFlow {
  #last: { readonly at: number; readonly sights: readonly PartitionSight[] } | undefined;
  #steps: readonly (Flow & { readonly from: number; readonly to: number })[] = [];

  /** @returns tasks a second over the latest polls; null after the first */
  note(at: number, sights: readonly PartitionSight[]): Flow | null {
    const last = this.#last;
    this.#last = { at, sights };
    // After the first poll, or if the clock was set back.
    if (last === undefined || at <= last.at) {
      this.#steps = [];
      return null;
    }
    const step = { ...flowBetween(last.sights, sights), from: last.at, to: at };
    this.#steps = [...this.#steps.filter(({ from }) => from >= at - RATE_MS), step];
    const seconds = (at - (this.#steps[0]?.from ?? last.at)) / 1_000;
    const sum = (of: keyof Flow): number => this.#steps.reduce((total, one) => total + one[of], 0);
    return { arrived: sum('arrived') / seconds, left: sum('left') / seconds };
  }
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

/** Entries that the other poll would have seen, and has not. */
function countNew(hints: readonly ReadyEntry[], other: PartitionSight): number {
  const ids = new Set(other.hints.map(({ id }) => id));
  const coveredUntil = other.isMore ? (other.hints.at(-1)?.readyAt ?? -Infinity) : Infinity;
  return hints.filter(({ id, readyAt }) => readyAt < coveredUntil && !ids.has(id)).length;
}
