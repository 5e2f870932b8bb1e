/**
 * A worker's counts so far.
 * Each is also reported when it happens, because a killed worker never returns its report.
 */
import type { Settlement } from '../run/settle.ts';
import type { RunningTask } from '../task/task.ts';

export interface WorkerCounts {
  readonly claimed: number;
  /** Claims of tasks whose holders had expired; part of `claimed`. */
  readonly takenOver: number;
  readonly claimsRefused: number;
  readonly markedDead: number;
  /** Dropped because they were not started before they expired. */
  readonly expired: number;
  /** Failed attempts of tasks that had been failing for ten minutes. */
  readonly failing: number;
  /** Hand-backs at the deadline without new progress, from a task's second consecutive one on. */
  readonly stalled: number;
  /** How many times a task was left to other workers because this module does not define its name. */
  readonly unknown: number;
  /** Unusable rows. */
  readonly damaged: number;
  readonly settled: Readonly<Record<Settlement, number>>;
}

export type Counted = Exclude<keyof WorkerCounts, 'settled'> | Settlement;

/** Milliseconds by the clocks that wrote the row. If these were two machines, their clock difference is included. */
export interface TaskTimes {
  readonly waitMs?: number;
  readonly runMs?: number;
  readonly endToEndMs?: number;
}

export class Tally {
  readonly #counts: Record<Exclude<keyof WorkerCounts, 'settled'>, number> = {
    claimed: 0,
    takenOver: 0,
    claimsRefused: 0,
    markedDead: 0,
    expired: 0,
    failing: 0,
    stalled: 0,
    unknown: 0,
    damaged: 0,
  };
  readonly #settled: Record<Settlement, number> = {
    done: 0,
    retried: 0,
    dead: 0,
    released: 0,
    snoozed: 0,
    suspended: 0,
    cancelled: 0,
    lost: 0,
    unsettled: 0,
  };
  readonly #onCounted: ((what: Counted, count: number) => void) | undefined;

  constructor(onCounted: ((what: Counted, count: number) => void) | undefined) {
    this.#onCounted = onCounted;
  }

  count(what: Exclude<keyof WorkerCounts, 'settled'>): void {
    this.#counts[what]++;
    this.#onCounted?.(what, 1);
  }

  countSettled(how: Settlement): void {
    this.#settled[how]++;
    this.#onCounted?.(how, 1);
  }

  read(): WorkerCounts {
    return { ...this.#counts, settled: { ...this.#settled } };
  }
}

export function timesOfDone({ claimedAt, createdAt }: RunningTask, now: number): TaskTimes {
  return { runMs: now - claimedAt, endToEndMs: now - createdAt };
}
