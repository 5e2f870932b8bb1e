import type { Outcome } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
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
  ): Promise<{ readonly kind: 'applied' | 'refused' }>;
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
  /** Dead tasks and when they died, a page at a time. Eventually consistent. */
  pageOfDead(queue: string, after: unknown): Promise<{ readonly keys: readonly DeadHint[]; readonly next: unknown }>;
}

/** An entry of the list of dead tasks. */
export interface DeadHint extends TaskKey {
  readonly diedAt: number;
}
