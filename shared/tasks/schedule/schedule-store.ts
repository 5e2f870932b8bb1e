import type { Random } from '../../core/runtime/random.ts';
import type { Outcome } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import type { ScheduleDefinition, ScheduleRecord } from './schedule.ts';

export interface ScheduleKey {
  readonly queue: string;
  readonly name: string;
}

/** What a removal leaves behind: a later definition of the schedule builds on it. */
export interface RemovedSchedule extends ScheduleKey {
  readonly isRemoved: true;
  readonly nonce: string;
}

/** Where schedules live. Every write is conditional; see `tasks/rows/schedule-statements.ts` for the guards. */
export interface ScheduleStore {
  /** Strongly consistent. */
  get(key: ScheduleKey): Promise<ScheduleRecord | RemovedSchedule | undefined>;
  /** Refused when it was written since it was observed. */
  put(
    definition: ScheduleDefinition,
    nextAt: number,
    observed: ScheduleRecord | RemovedSchedule | undefined,
    write: Stamp,
  ): Promise<Outcome<ScheduleRecord, ScheduleRecord | RemovedSchedule>>;
  /** On to another slot; `undefined`: it rests until it is defined again. Refused when it was written since it was observed. */
  advance(
    observed: ScheduleRecord,
    nextAt: number | undefined,
    write: Stamp,
  ): Promise<Outcome<ScheduleRecord, ScheduleRecord | RemovedSchedule>>;
  /** Refused when it was written since it was observed. */
  remove(observed: ScheduleRecord, write: Stamp): Promise<Outcome<RemovedSchedule, ScheduleRecord | RemovedSchedule>>;
  /**
   * Schedules of a queue that are due at `now`, as far as the index knows: at most `SCHEDULES_PER_TICK`.
   * If more are due, chance decides where the choice begins, and `onDamaged` hears how many wait. The oldest first would let rows
   * that stay due, because nothing can be made of them, keep the others waiting for ever.
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
