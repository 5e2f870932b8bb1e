import type { Outcome, WriteLimits, Stamp } from '../../core/lease/write.ts';

/** The state of a queue as a whole. A queue has no record until an operator, a dispatcher or a worker outside Lambda writes one. */
export interface QueueRecord {
  readonly queue: string;
  /** Workers do not claim its tasks. Running tasks continue to their end. */
  readonly isPaused: boolean;
  /** Tenants whose tasks workers do not claim. Undefined: all are claimed. */
  readonly pausedTenants?: ReadonlySet<string> | undefined;
  readonly reason: string;
  readonly changedAt: number;
  readonly nonce: string;
  /** Lanes that a dispatcher has seen tasks in, by name: see `lane.ts`. Undefined: no dispatcher has polled yet, any may be in use. */
  readonly lanes?: ReadonlySet<string> | undefined;
  /** Shards that a dispatcher has had, or has seen tasks in; only grows. Undefined: no dispatcher has recorded it yet. */
  readonly shards?: number | undefined;
  /** Since when each task of the queue that ends gets an entry in the list of finished tasks. Undefined: none does. */
  readonly listedSince?: number | undefined;
  /** Recent mean time of a task in a slot, each counted up to `startWithinMs`: see `tasks/worker/planning-hints.ts`. Undefined: unknown. */
  readonly tookMs?: number | undefined;
  /** Names of waiting tasks that no worker has defined recently. */
  readonly unknownNames?: readonly string[] | undefined;
  /** Names of tasks that workers have announced, for operators: see `tasks/worker/announced-names.ts`. Undefined: no worker has. */
  readonly announcedNames?: readonly string[] | undefined;
  /** Settings of the worker that wrote these hints, for operators. */
  readonly workerSettings?: WorkerHints | undefined;
  /** Workers that a waker has started recently. Undefined: none, or the note cannot be read. */
  readonly starts?: StartsNote | undefined;
}

/** Set by an operator. */
export type QueueSettings = Pick<QueueRecord, 'isPaused' | 'reason' | 'pausedTenants'>;

/** So many are paused at most: each worker reads them every few seconds. Above it, an operator pauses the queue. */
export const MAX_PAUSED_TENANTS = 100;

export function isPausedTenant(record: QueueRecord | undefined, tenant: string | undefined): boolean {
  return tenant !== undefined && record?.pausedTenants?.has(tenant) === true;
}

/** Workers that were started and had no permit yet when this was written: see `tasks/dispatch/pending-starts.ts`. */
export interface StartsNote {
  readonly count: number;
  /** The permits' last token before these starts. */
  readonly token: number;
  /** From this time on, the starts count as failed. */
  readonly untilMs: number;
  /** How long these starts may take to become visible. */
  readonly waitMs: number;
  /** Tasks that wakers have announced recently, and when, for other wakers and for live workers: the index may not show them yet. */
  readonly heard: readonly Heard[];
  /** Nonce of the write. A waker recognises its own note by it. */
  readonly nonce: string;
}

/** Tasks that come within this time of each other come one by one, or faster. Set by `bench fanout --scene "one a second"`. */
export const COMES_AGAIN_MS = 10_000;

export interface Heard {
  readonly at: number;
  readonly count: number;
  /** Some of the tasks, at least one. */
  readonly ids: readonly string[];
}

/** Hints of a worker for dispatcher and waker; harmless if lost or outdated. */
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

/** A queue's use, as seen by a dispatcher. */
export interface QueueUse {
  readonly lanes: ReadonlySet<string>;
  readonly shards: number;
}

/** Stores queues' rows. Every write is conditional; see `tasks/rows/queue-statements.ts` for the guards. */
export interface QueueStore {
  /** Strongly consistent. */
  get(queue: string): Promise<QueueRecord | undefined>;
  /** Eventually consistent, at half the price: for frequent callers. */
  glance(queue: string): Promise<QueueRecord | undefined>;
  /** Refused when it was written since it was observed. Without `pausedTenants`, these stay. */
  change(
    queue: string,
    observed: QueueRecord | undefined,
    to: QueueSettings,
    write: Stamp,
  ): Promise<Outcome<QueueRecord>>;
  /**
   * Adds lanes in which tasks were seen, and sets the number of known shards,
   * which must not be less than observed. Operators' settings stay.
   * Refused when it was written since it was observed.
   */
  noteUse(queue: string, observed: QueueRecord | undefined, use: QueueUse, write: Stamp): Promise<Outcome<QueueRecord>>;
  /** Switches the list of finished tasks on or off. Refused when it was written since it was observed. */
  listFinished(
    queue: string,
    observed: QueueRecord | undefined,
    isOn: boolean,
    write: Stamp,
  ): Promise<Outcome<QueueRecord>>;
  /**
   * Announces the names of tasks that a worker defines, and creates the row if it is missing. Keeps what operators and dispatchers have
   * written. Refused if other names were announced since the row was observed.
   */
  announceNames(
    queue: string,
    observed: QueueRecord | undefined,
    names: readonly string[],
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<QueueRecord>>;
  /** Writes hints for the planning of workers; the last writer wins. Refused without a row. */
  noteHints(queue: string, hints: PlanningHints, write: Stamp, limits?: WriteLimits): Promise<Outcome<QueueRecord>>;
  /** Replaces the note of pending starts. Refused when another was written since it was observed, or there is no row. */
  noteStarts(
    queue: string,
    observed: StartsNote | undefined,
    starts: Omit<StartsNote, 'nonce'>,
    write: Stamp,
  ): Promise<Outcome<QueueRecord>>;
}
