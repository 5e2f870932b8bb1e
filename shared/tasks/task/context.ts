import { messageOf } from '../../core/errors.ts';
import { warn } from '../../core/runtime/host.ts';
import type { Duration } from '../../core/validate/duration.ts';
import type { BatchCounts } from './batch.ts';
import type { TaskRequest } from './task-request.ts';
import type { UserWrite } from './task-store.ts';
import type { Json } from './task.ts';

/** The context that Leasehold passes to task code along with the input. */
export interface TaskContext {
  readonly id: string;
  /**
   * Name of this work, which no other work of this id has: the id, and later `<id>~2`, `<id>~3`. Each attempt of this work has the same.
   * Derive from it what may exist once for each work: `${task.runId}/mail`.
   */
  readonly runId: string;
  readonly queue: string;
  readonly name: string;
  /** As asked for, and that of the tasks that it spawns, unless they name another. */
  readonly tenant: string | undefined;
  /** 1 for the first claim. */
  readonly attempt: number;
  /**
   * Aborts when this attempt must stop: the lease was lost, the timeout passed, the task was cancelled, or the worker's deadline is near.
   * Its reason says which. Pass it to whatever you wait for.
   */
  readonly signal: AbortSignal;
  /** The lease counter of this claim: larger than any earlier claim's. Pass it to your own stores if they can compare it. */
  readonly fencingToken: number;
  /**
   * Returns a sequence number that increases with every call in this worker. It orders writes with the same lease counter.
   */
  nextSequence(): number;
  /**
   * (table, task, counter, session) as one opaque text, to pass to other services:
   * with `leasehold.verify` they check whether this claim is still the current one.
   */
  readonly sequencer: string;
  /** Progress saved by an earlier attempt, if any. */
  readonly progress: Json | undefined;
  /** W3C Trace Context of the span that enqueued the task. Tasks it spawns join the same trace. */
  readonly traceparent: string | undefined;
  /**
   * The occurrence that this task was made for; undefined for any other task. If the task was triggered by hand, `at` is the time of
   * that request. `since` is the `at` of the previous task, undefined for the first: this task must cover [since, at), also
   * after runs that were missed or skipped. A task that an operator retries keeps both.
   */
  readonly schedule: { readonly name: string; readonly at: Date; readonly since: Date | undefined } | undefined;
  /** Results of the children that an earlier attempt waited for; undefined if none did. */
  readonly children: BatchCounts | undefined;
  /** Milliseconds left for this attempt. */
  remainingMs(): number;
  /**
   * Saves progress for the next attempt.
   * @throws LeaseLostError when this attempt is no longer the current one
   */
  saveProgress(progress: Json): Promise<void>;
  /**
   * Runs the items of the task's input, one after the other, or `concurrency` at once. Which have ended is kept as the task's progress, so
   * a later attempt runs only the others: a task uses `each` or `saveProgress`, not both, and passes the same items in each attempt.
   * An item that throws does not stop the others; the attempt fails at the end. No item begins once `signal` aborts.
   * @returns the results of the items, null for nothing; all of it must fit into progress (4 KB) as JSON, unless `results` is false
   * @throws AggregateError with the errors of all failed items
   * @throws DoNotRetry when all failed items have failed permanently
   */
  each<Item, Result>(
    items: readonly Item[],
    run: (item: Item, index: number) => Promise<Result> | Result,
    options: EachOptions & { readonly results: false },
  ): Promise<void>;
  each<Item, Result>(
    items: readonly Item[],
    run: (item: Item, index: number) => Promise<Result> | Result,
    options?: EachOptions,
  ): Promise<readonly Result[]>;
  /**
   * Completes the task, applies `writes` and creates the tasks to `spawn` in one transaction, conditional on this claim's lease counter:
   * either all of it happens, exactly once, or nothing. Ordered tasks join their lines in the same transaction, in the order given.
   * The transaction has 100 actions: one for the task, one for each write and each spawned task, and one more for each input in a
   * separate row, for each line that is joined, and for each task that joins a line behind another.
   * @throws ConfigurationError when that exceeds one transaction: nothing was sent
   * @throws LeaseLostError when this attempt is no longer the current one
   * @throws CommitRefusedError when a condition of one of the writes was false: nothing was applied, no late copy will be, the task
   *   still runs
   * @throws StoreUnavailableError when the store did not confirm the outcome
   */
  commit(result?: Json, writes?: readonly UserWrite[], options?: CommitOptions): Promise<Committed>;
  /** Releases the task and runs it again after the given delay. This attempt is not counted. */
  snooze(delay: Duration): Promise<Committed>;
  /**
   * Creates children (at most 97) and gives the task back until the last of them has ended, done or not, without counting this attempt.
   * The task then runs again, and finds in `children` how they ended. Children run in the same queue. They may be ordered, but not by this
   * task's own key: they would wait for this task.
   */
  waitFor(children: readonly TaskRequest[]): Promise<Committed>;
  /** Each line carries the task's queue, id (`task`), name and attempt, also after the logger is passed on. */
  readonly log: TaskLog;
}

export interface EachOptions {
  /** How long the end of an item may go unrecorded, and the shortest time between two records. Default: 500 ms. 0 records each item. */
  readonly flushInterval?: Duration;
  /** Items at once. Default: 1. */
  readonly concurrency?: number;
  /** Whether to keep what items return. Default: true. */
  readonly results?: boolean;
}

export interface CommitOptions {
  readonly spawn?: readonly TaskRequest[];
}

/** Returned by `commit`, `snooze` and `waitFor`, so that task code can end with `return await task.commit(...)`. */
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

/** The same logger, but its own errors fail nothing. The first is a process warning. */
export function steadyLog(log: TaskLog): TaskLog {
  let hasWarned = false;
  const onFailed = (error: unknown): void => {
    if (!hasWarned) warn(`the log failed: ${messageOf(error)}`);
    hasWarned = true;
  };
  return logBy((level, message, extra) => observed(() => log[level](message, ...extra), onFailed));
}

/** The same logger, whose lines carry these fields as well. */
export function boundLog(log: TaskLog, fields: Readonly<Record<string, unknown>>): TaskLog {
  return logBy((level, message, extra) =>
    log[level](message, { ...fields, ...Object.fromEntries(extra.flatMap((given) => Object.entries(given))) }),
  );
}

function logBy(write: (level: keyof TaskLog, message: string, extra: Record<string, unknown>[]) => void): TaskLog {
  const at =
    (level: keyof TaskLog): TaskLog['info'] =>
    (message, ...extra) =>
      write(level, message, extra);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Calls observing code of the user. Its errors, and the errors of a returned promise, go to `onFailed`. */
export function observed(call: () => unknown, onFailed: (error: unknown) => void): void {
  try {
    const answer = call();
    if (answer instanceof Promise) answer.catch(onFailed);
  } catch (error) {
    onFailed(error);
  }
}
