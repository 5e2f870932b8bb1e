import type { Outcome, Stamp } from '../../core/lease/write.ts';
import type { KeyState } from './key-limit.ts';
import type { EndedEntry, EndedQuery } from './ended-list.ts';
import type { LineState } from './line.ts';
import type { Cancellation, EndedTask, Priority, ReadyTask, RunningTask, TaskKey, TaskRecord } from './task.ts';

/** Operator writes to tasks. Every write is conditional; see `tasks/rows/task/operator-statements.ts` for the guards. */
export interface TaskOperatorStore {
  /**
   * Its holder learns of it with the next heartbeat.
   * Refused unless it still runs under the observed session and counter, and that session is live.
   */
  requestCancel(
    observed: RunningTask,
    cancellation: Cancellation,
    write: Stamp,
  ): Promise<{ readonly kind: 'applied' | 'refused'; readonly earlierAttempt: 'none' | 'unknown' }>;
  /** Refused when it was written since it was observed. */
  reschedule(
    observed: ReadyTask,
    to: { readonly priority: Priority; readonly runAt: number },
    write: Stamp,
  ): Promise<Outcome<TaskRecord>>;
  /**
   * Makes a task ready again with all its attempts; its counter continues. A task that waits for children waits again until all have ended.
   * Refused if the row was written since it was observed.
   */
  revive(observed: EndedTask, runAt: number, write: Stamp): Promise<Outcome<TaskRecord>>;
  /** The row of a key. Strongly consistent. */
  getKey(queue: string, key: string): Promise<ObservedKey>;
  /** Sets the count of a key. Refused if one of its tasks has started or left `running` since the row was observed. */
  recountKey(
    queue: string,
    key: string,
    to: { readonly observed: ObservedKey; readonly running: number },
    write: Stamp,
  ): Promise<{ readonly kind: 'applied' | 'refused'; readonly earlierAttempt: 'none' | 'unknown' }>;
  /** As `getMany` of the task store, but strongly consistent, at twice the price. */
  getManyNow(keys: readonly TaskKey[], onDamaged: (error: unknown) => void): Promise<readonly TaskRecord[]>;
  /** The row of a line. Strongly consistent. */
  getLine(queue: string, key: string): Promise<LineState | undefined>;
  /** Passes a turn that no task has to the first ticket that one has. Refused if it has been passed since the line was observed. */
  passLine(
    queue: string,
    key: string,
    turn: { readonly observed: LineState; readonly to: number },
    write: Stamp,
  ): Promise<{ readonly kind: 'applied' | 'refused'; readonly earlierAttempt: 'none' | 'unknown' }>;
  /** Entries of ended tasks, newest first, a page at a time. Eventually consistent. */
  pageOfEnded(
    query: EndedQuery,
    after: unknown,
  ): Promise<{ readonly entries: readonly EndedEntry[]; readonly next: unknown }>;
  /** Dead tasks and when they died, a page at a time. Eventually consistent. */
  pageOfDead(queue: string, after: unknown): Promise<{ readonly keys: readonly DeadHint[]; readonly next: unknown }>;
}

/** A key's row, and the nonce of its last write: if that is unchanged, no task has started or left `running`. */
export interface ObservedKey extends KeyState {
  readonly nonce: string | undefined;
}

/** An entry of the list of dead tasks. */
export interface DeadHint extends TaskKey {
  readonly diedAt: number;
}
