import type { Outcome, WriteLimits } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';

/** What is known of a queue as a whole. A queue that was never configured, and of which no dispatcher has seen a task, has none. */
export interface QueueRecord {
  readonly queue: string;
  /** No task of it is claimed; those that run go on to their end. */
  readonly isPaused: boolean;
  readonly reason: string;
  readonly changedAt: number;
  readonly nonce: string;
  /** Lanes that a dispatcher has seen tasks in, by name: see `lane.ts`. Undefined: no dispatcher has looked, any may be in use. */
  readonly lanes?: ReadonlySet<string> | undefined;
  /** Shards that a dispatcher has had, or has seen tasks in; only grows. Undefined: no dispatcher has looked that writes it down. */
  readonly shards?: number | undefined;
  /** Mean time that a task held a slot lately, each counted up to `startWithinMs`: see `tasks/worker/planning-hints.ts`. Undefined: unknown. */
  readonly tookMs?: number | undefined;
  /** Names of waiting tasks that no worker has defined lately. */
  readonly unknownNames?: readonly string[] | undefined;
  /** Names of tasks that workers have announced, for people: see `tasks/worker/announced-names.ts`. Undefined: no worker has. */
  readonly announcedNames?: readonly string[] | undefined;
  /** Settings of the worker that wrote these hints, for people who look at the queue. */
  readonly workerSettings?: WorkerHints | undefined;
}

/** What a worker tells those who plan; harmless if it is lost or outdated. */
export interface PlanningHints {
  readonly tookMs: number | undefined;
  readonly unknownNames: readonly string[];
  readonly announcedNames: readonly string[];
  readonly workerSettings: WorkerHints;
}

export interface WorkerHints {
  /** Tasks of one worker at once. */
  readonly concurrency: number;
  readonly startWithinMs: number;
}

/** What a dispatcher has seen of how a queue is used. */
export interface QueueUse {
  readonly lanes: ReadonlySet<string>;
  readonly shards: number;
}

/** Where queues' rows live. Every write is conditional; see `tasks/rows/queue-statements.ts` for the guards. */
export interface QueueStore {
  /** Strongly consistent. */
  get(queue: string): Promise<QueueRecord | undefined>;
  /** Eventually consistent, at half the price: for callers that ask again and again. */
  glance(queue: string): Promise<QueueRecord | undefined>;
  /** Refused when it was written since it was observed. */
  change(
    queue: string,
    observed: QueueRecord | undefined,
    to: { readonly isPaused: boolean; readonly reason: string },
    write: Stamp,
  ): Promise<Outcome<QueueRecord>>;
  /**
   * Adds lanes that tasks were seen in, and sets how many shards are known of,
   * which is not less than was observed; what operators have set stays.
   * Refused when it was written since it was observed.
   */
  noteUse(queue: string, observed: QueueRecord | undefined, use: QueueUse, write: Stamp): Promise<Outcome<QueueRecord>>;
  /** Hints for those who plan workers: the last writer decides. Refused when there is no row. */
  noteHints(queue: string, hints: PlanningHints, write: Stamp, limits?: WriteLimits): Promise<Outcome<QueueRecord>>;
}
