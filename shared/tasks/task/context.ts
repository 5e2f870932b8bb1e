import type { Duration } from '../../core/validate/duration.ts';
import type { BatchCounts } from './batch.ts';
import type { TaskRequest } from './task-request.ts';
import type { UserWrite } from './task-store.ts';
import type { Json } from './task.ts';

/** What task code sees beside its input. */
export interface TaskContext {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  /** 1 for the first claim. */
  readonly attempt: number;
  /**
   * Aborts when this attempt must stop: the lease was lost, the timeout passed, the task was cancelled, or the worker's deadline is near.
   * Its reason says which. Pass it to whatever you wait for.
   */
  readonly signal: AbortSignal;
  /** The lease counter of this claim: larger than that of any earlier one. Give it to stores of your own that can compare it. */
  readonly fencingToken: number;
  /** Grows with every call, over all tasks of one worker: orders the writes under one lease counter, which the items of a pack share. */
  nextSequence(): number;
  /**
   * (table, task, counter, session) as one opaque text, to pass to others:
   * `leasehold.verify` tells them whether this claim is still the current one.
   */
  readonly sequencer: string;
  /** What an earlier attempt saved, if any. */
  readonly progress: Json | undefined;
  /** The span that the task was enqueued in, as W3C Trace Context words it; what it spawns belongs to the same trace. */
  readonly traceparent: string | undefined;
  /** How the children ended that an earlier attempt waited for; undefined before it waits for any. */
  readonly children: BatchCounts | undefined;
  /** Milliseconds that this attempt still has. */
  remainingMs(): number;
  /**
   * Saves progress for the next attempt.
   * @throws LeaseLostError when this attempt is no longer the current one
   */
  saveProgress(progress: Json): Promise<void>;
  /**
   * Completes the task, applies `writes` and creates the tasks to `spawn` in one transaction, conditional on this claim's lease counter:
   * either all of it happens, exactly once, or nothing. Tasks in order take their places in the line with it, in the order given.
   * The transaction has 100 actions: one for the task, one for each write and each spawned task, one more for an input beside its row,
   * for each line that is joined, and for each task that stands there behind another.
   * @throws ConfigurationError when that is more than one transaction takes: nothing was sent
   * @throws LeaseLostError when this attempt is no longer the current one: nothing was applied
   * @throws CommitRefusedError when a condition of one of the writes was false: nothing was applied, the task still runs
   */
  commit(result?: Json, writes?: readonly UserWrite[], options?: CommitOptions): Promise<Committed>;
  /** Gives the task back until the time has passed, without counting this attempt. */
  snooze(delay: Duration): Promise<Committed>;
  /**
   * Creates children (at most 97) and gives the task back until the last of them has ended, done or not, without counting this attempt.
   * The task then runs again, and finds in `children` how they ended. They are of its own queue, and may run in order,
   * but not in the line that it stands in itself: there they would wait for it.
   */
  waitFor(children: readonly TaskRequest[]): Promise<Committed>;
  /** Each line carries the task's queue, id (`task`), name and attempt, also after the logger is passed on. */
  readonly log: TaskLog;
}

export interface CommitOptions {
  readonly spawn?: readonly TaskRequest[];
}

/** Returned by `commit`, `snooze` and `waitFor`, so that task code can end with `return task.commit(...)`. */
export interface Committed {
  readonly kind: 'leasehold.settled';
}

/** The part of a logger that tasks use; Powertools' Logger fits. */
export interface TaskLog {
  debug(message: string, ...extra: Record<string, unknown>[]): void;
  info(message: string, ...extra: Record<string, unknown>[]): void;
  warn(message: string, ...extra: Record<string, unknown>[]): void;
  error(message: string, ...extra: Record<string, unknown>[]): void;
}

/** The same logger, whose lines carry these fields as well. */
export function boundLog(log: TaskLog, fields: Readonly<Record<string, unknown>>): TaskLog {
  const binding =
    (level: keyof TaskLog): TaskLog['info'] =>
    (message, ...extra) =>
      log[level](message, { ...fields, ...Object.fromEntries(extra.flatMap((given) => Object.entries(given))) });
  return { debug: binding('debug'), info: binding('info'), warn: binding('warn'), error: binding('error') };
}
