/**
 * A schedule: a task that recurs by a cron expression, in the local time of a zone.
 *
 * Guarantees
 *   - Each occurrence becomes at most one task, and one that the policies keep is never lost: the transaction that makes the task
 *     also advances the schedule. Several dispatchers may process the same due occurrence, and crash at any point.
 *   - With every overlap policy but `allow`, no two tasks of a schedule run at once: they are in their own line (`task/line.ts`),
 *     in which a task that is retried, snoozed or waits for its children blocks the others. This includes tasks of `run`, and dead
 *     tasks.
 *   - The intervals [since, at) of a schedule's tasks follow each other without a gap and do not overlap.
 *
 * Does not guarantee
 *   - Punctuality. An occurrence becomes a task with the first tick of a dispatcher after it.
 *   - Occurrences older than `HORIZON_MS`, which are left out even with `missed: 'all'`.
 *
 * Clock: an occurrence is due by the dispatcher's wall clock; a wrong clock changes when its task is made, never how often.
 */
import { sha256 } from '../../core/runtime/sha256.ts';
import type { CronTimes } from './cron.ts';
import { lastOccurrenceWithin, occurrenceAfter, occurrencesWithoutMoment } from './cron.ts';
import type { SharedTaskOptions } from '../task/task-request.ts';
import type { Json, Occurrence } from '../task/task.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { Outcome, Stamp } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { NewTask } from '../task/task-store.ts';

/**
 * Policies for occurrences that were missed because no dispatcher ran:
 * `skip`  an occurrence that is later than the tolerance is left out.
 * `last`  only the latest missed occurrence becomes a task.
 * `all`   each missed occurrence becomes a task, oldest first.
 */
export const MISSED_POLICIES = ['skip', 'last', 'all'] as const;
export type MissedPolicy = (typeof MISSED_POLICIES)[number];

/**
 * Policies for an occurrence while a task of the schedule has not ended:
 * `queue`    its task waits until the earlier task has ended.
 * `skip`     the occurrence is left out.
 * `replace`  the earlier task is requested to stop, as by cancel, and the occurrence's task starts when it has ended.
 * `allow`    its task runs alongside the earlier task.
 */
export const OVERLAP_POLICIES = ['queue', 'skip', 'replace', 'allow'] as const;
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

export interface ScheduleDefinition extends CronTimes {
  readonly queue: string;
  readonly name: string;
  /** The name of the task that each occurrence becomes. */
  readonly task: string;
  readonly input: Json;
  /** Options of the schedule's tasks, like `enqueue`'s. */
  readonly options: Omit<SharedTaskOptions, 'queue'>;
  readonly missed: MissedPolicy;
  readonly overlap: OverlapPolicy;
  /** How late an occurrence may be and still count as on time. Only used by `skip`. */
  readonly toleranceMs: number;
  /** Earliest time of its first occurrence. */
  readonly startAt: number | undefined;
  /** Its last occurrence is before this time. */
  readonly endAt: number | undefined;
  /** Its tasks are due later than their occurrences by a fixed part of this duration. */
  readonly jitterMs: number;
}

export interface ScheduleRecord extends ScheduleDefinition {
  /** When it was defined or its definition last changed. It has no occurrences before this time. */
  readonly definedAt: number;
  /** The first occurrence that has neither become a task nor been left out; Infinity: no occurrence remains, or the schedule is paused. */
  readonly nextAt: number;
  /** The latest occurrence that became a task. */
  readonly lastAt: number | undefined;
  /** When it was paused. Absent: it is active. */
  readonly pausedAt: number | undefined;
  /** Occurrences that were left out, and why: the last few. */
  readonly leftOut: readonly LeftOutOccurrence[];
  readonly nonce: string;
}

export interface LeftOutOccurrence {
  readonly at: number;
  /**
   * A task of the schedule had not ended, no dispatcher had run for longer than the tolerance, or the zone does not have that time on the day
   * on which its clock goes forward.
   */
  readonly why: (typeof LEFT_OUT_FOR)[number];
}

export const LEFT_OUT_FOR = ['overlap', 'late', 'zone'] as const;

/** Half of the retention period of finished tasks, so a younger occurrence still finds the task that it became. */
export const HORIZON_MS = 7 * 86_400_000;
/** Maximum number of occurrences of one schedule per tick; the next tick continues. */
const OCCURRENCES_PER_TICK = 100;
/** Maximum number of due schedules of a queue per tick; the next tick continues. */
export const SCHEDULES_PER_TICK = 1_000;
/** Maximum JSON size of the options of a schedule's tasks. Each tick parses the options of every due schedule. */
export const SCHEDULE_OPTIONS_LIMIT_CHARACTERS = 4_096;
/** Left-out occurrences that a schedule's row keeps. */
export const LEFT_OUT_KEPT = 8;

interface DueOccurrences {
  /** Occurrences to turn into tasks now, oldest first. */
  readonly occurrences: readonly number[];
  /** An occurrence that is too late to become a task. */
  readonly late?: number;
  /** The schedule's next occurrence; undefined if no occurrence remains. */
  readonly nextAt: number | undefined;
}

/** Returns the first occurrence after a time; undefined if no occurrence follows. */
export function nextOccurrence(schedule: ScheduleDefinition, after: number): number | undefined {
  const { startAt = 0, endAt = Infinity } = schedule;
  const occurrence = occurrenceAfter(schedule, Math.max(after, startAt - 1));
  return occurrence === undefined || occurrence >= endAt ? undefined : occurrence;
}

/** Returns the last occurrence of a span, both ends included; undefined if the span has no occurrence. */
export function lastOccurrence(
  schedule: ScheduleDefinition,
  span: { readonly from: number; readonly until: number },
): number | undefined {
  return lastOccurrenceWithin((after) => nextOccurrence(schedule, after), span);
}

/** Returns the occurrences of a schedule that are due at `now`. Pure. */
export function dueOccurrences(schedule: ScheduleRecord, now: number): DueOccurrences {
  if (schedule.nextAt > now) return { occurrences: [], nextAt: schedule.nextAt };
  if (schedule.missed === 'all') return everyOccurrence(schedule, now);
  const following = nextOccurrence(schedule, schedule.nextAt);
  const isLatest = following === undefined || following > now;
  const latest = isLatest ? schedule.nextAt : (lastOccurrence(schedule, { from: following, until: now }) ?? following);
  const nextAt = isLatest ? following : nextOccurrence(schedule, latest);
  const isKept = schedule.missed === 'last' || now - latest <= schedule.toleranceMs;
  return isKept ? { occurrences: [latest], nextAt } : { occurrences: [], late: latest, nextAt };
}

function everyOccurrence(schedule: ScheduleRecord, now: number): DueOccurrences {
  const occurrences: number[] = [];
  let occurrence: number | undefined = schedule.nextAt;
  if (occurrence < now - HORIZON_MS) occurrence = nextOccurrence(schedule, now - HORIZON_MS);
  while (occurrence !== undefined && occurrence <= now && occurrences.length < OCCURRENCES_PER_TICK) {
    occurrences.push(occurrence);
    occurrence = nextOccurrence(schedule, occurrence);
  }
  return { occurrences, nextAt: occurrence };
}

/** Returns what the zone leaves out between the latest occurrence that became a task, or was left out, and another one. Pure. */
export function leftOutByZone(schedule: ScheduleRecord, before: number): readonly number[] {
  const { definedAt, lastAt = definedAt, leftOut, startAt = 0 } = schedule;
  const after = Math.max(lastAt, definedAt, startAt - 1, ...leftOut.map(({ at }) => at));
  return after < before ? occurrencesWithoutMoment(schedule, { after, before }) : [];
}

/** Returns how much later than their occurrences a schedule's tasks are due. Derived from its name, within its jitter. */
export function jitterOf({ name, jitterMs }: Pick<ScheduleDefinition, 'name' | 'jitterMs'>): number {
  return Math.floor((parseInt(sha256(name).slice(0, 8), 16) / 2 ** 32) * jitterMs);
}

/** Returns the key of the line that a schedule's tasks join. */
export function lineOfSchedule({ name }: Pick<ScheduleDefinition, 'name'>): string {
  return `schedule/${name}`;
}

/** Returns the occurrence's data for its task. An occurrence before the latest one that became a task has an empty interval. */
export function occurrenceOf({ name, lastAt }: Pick<ScheduleRecord, 'name' | 'lastAt'>, at: number): Occurrence {
  return { name, at, since: lastAt === undefined ? undefined : Math.min(lastAt, at) };
}

/** Returns the id of an occurrence's task: the schedule's name and the scheduled time. */
export function occurrenceTaskId({ name }: Pick<ScheduleDefinition, 'name'>, occurrence: number): string {
  return `${name}@${new Date(occurrence).toISOString()}`;
}

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
