import type { Random } from '../../core/runtime/random.ts';
import type { Outcome } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { NewTask } from '../task/task-store.ts';
import type { LeftOutOccurrence, ScheduleDefinition, ScheduleRecord } from './schedule.ts';

export interface ScheduleKey {
  readonly queue: string;
  readonly name: string;
}

/** The row that remains of a removed schedule. A later definition of the schedule updates it. */
export interface RemovedSchedule extends ScheduleKey {
  readonly isRemoved: true;
  readonly nonce: string;
}

export interface ScheduleStep {
  /** Undefined: no occurrence is due until the schedule is defined again. */
  readonly nextAt: number | undefined;
  /** Absent: no occurrence has become a task. */
  readonly lastAt?: number | undefined;
  /** Absent: no occurrence was left out. */
  readonly leftOut?: LeftOutOccurrence | undefined;
}

/**
 * `made`     the task exists, and the schedule is as in `schedule`.
 * `taken`    its id is taken; nothing was written. `damage`: the row with this id cannot be read.
 * `busy`     the task required that all earlier tasks of the schedule have ended, but some have not; nothing was written.
 * `refused`  the schedule was written since it was observed; nothing was written.
 */
export type MakeOutcome =
  | { readonly kind: 'made'; readonly schedule: ScheduleRecord }
  | { readonly kind: 'taken'; readonly damage: unknown }
  | { readonly kind: 'busy' | 'refused' };

/** Storage of schedules. Every write is conditional; see `tasks/rows/schedule-statements.ts` for the guards. */
export interface ScheduleStore {
  /** Strongly consistent. */
  get(key: ScheduleKey): Promise<ScheduleRecord | RemovedSchedule | undefined>;
  /** A paused schedule stays paused, and has no next occurrence. Refused when it was written since it was observed. */
  put(
    definition: ScheduleDefinition,
    nextAt: number | undefined,
    observed: ScheduleRecord | RemovedSchedule | undefined,
    write: Stamp,
  ): Promise<Outcome<ScheduleRecord, ScheduleRecord | RemovedSchedule>>;
  /** Advances the schedule to another occurrence. Refused when it was written since it was observed. */
  advance(
    observed: ScheduleRecord,
    step: ScheduleStep,
    write: Stamp,
  ): Promise<Outcome<ScheduleRecord, ScheduleRecord | RemovedSchedule>>;
  /** Creates an occurrence's task and advances the schedule in one transaction. */
  makeOccurrence(
    observed: ScheduleRecord,
    task: NewTask,
    step: ScheduleStep & { readonly onlyIfIdle: boolean },
    write: Stamp,
  ): Promise<MakeOutcome>;
  /**
   * Stops the tasks in a schedule's line that belong to occurrences before `at`: cancels waiting tasks; a running task
   * learns of it at its holder's next heartbeat.
   */
  stopEarlier(schedule: ScheduleRecord, at: number, reason: string, runtime: Runtime): Promise<void>;
  /** Pauses the schedule, or resumes it with its next occurrence. Refused when it was written since it was observed. */
  pause(
    observed: ScheduleRecord,
    to: { readonly pausedAt: number } | { readonly nextAt: number | undefined },
    write: Stamp,
  ): Promise<Outcome<ScheduleRecord, ScheduleRecord | RemovedSchedule>>;
  /** Refused when it was written since it was observed. */
  remove(observed: ScheduleRecord, write: Stamp): Promise<Outcome<RemovedSchedule, ScheduleRecord | RemovedSchedule>>;
  /**
   * Returns schedules of a queue that are due at `now` according to the index: at most `SCHEDULES_PER_TICK`.
   * If more are due, the selection starts at a random position, and `onDamaged` receives the number of due schedules.
   * If it always started with the oldest, rows that stay due because they cannot become tasks would block the others forever.
   */
  due(
    queue: string,
    now: number,
    random: Random,
    onDamaged: (error: unknown) => void,
  ): Promise<readonly ScheduleRecord[]>;
  /** A page of a queue's schedules by name. Eventually consistent. */
  page(
    queue: string,
    after: unknown,
  ): Promise<{ readonly schedules: readonly ScheduleRecord[]; readonly next: unknown }>;
}
