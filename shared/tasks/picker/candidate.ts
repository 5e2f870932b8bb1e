/** The candidates that the task picker gives to a worker, and the outcomes that the worker reports. */
import type { Fullness } from '../task/key-limit.ts';
import type { ReadyTask, RunningTask } from '../task/task.ts';

/**
 * `ready`      claim it; if a task of its key has just freed a slot here, without reading the key's row.
 * `abandoned`  its holder's session has expired: take it over.
 * `adopted`    we already hold it, but do not run it: the response to our claim was lost.
 */
export type Found =
  | { readonly kind: 'ready'; readonly task: ReadyTask; readonly expectsCapacity?: true }
  | { readonly kind: 'abandoned'; readonly task: RunningTask }
  | { readonly kind: 'adopted'; readonly task: RunningTask };

/** The outcome of a candidate. */
export type Outcome =
  /** It ended here, or got other work: its key has capacity for another task. */
  | 'ended'
  /** It was postponed: its key has capacity for another task. */
  | 'settled'
  /** It ran here and still holds its key's slot: it was handed back, or lost. */
  | 'kept'
  /** It expired before any worker started it. */
  | 'expired'
  /** It was not tried. */
  | 'untried'
  /** Another worker was faster, or the task must run alone and other tasks are running. */
  | 'contended'
  /** This worker does not define its name, or ends too soon for it. Others may try it. */
  | 'unfit'
  /** The outcome of its last write is unknown. Another run under the same claim would hide that, so this worker never gets it again. */
  | 'undecided'
  /** Its key is at capacity. */
  | { readonly full: Fullness };

/** A task that a worker may try. It is checked out until `end`, which is called once. */
export type Candidate = Found & {
  end(outcome: Outcome): Promise<void>;
};
