/** Recurring tasks as declared in code. A declaration has no effect until `ScheduleClient` stores it. */
import { ConfigurationError, shown } from '../../core/errors.ts';
import type { SharedTaskOptions, TaskReference } from '../task/task-request.ts';
import { TASK_OPTIONS } from '../task/task-request.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { validName } from '../../core/validate/name.ts';
import { validOptions } from '../../core/validate/options.ts';
import type { MissedPolicy, OverlapPolicy } from './schedule.ts';

/** When it recurs, and what the tasks of its slots have, each as if it had been given to `enqueue`. */
export interface ScheduleOptions extends SharedTaskOptions {
  /** Five fields, or six with seconds in front. */
  readonly cron: string;
  /** An IANA time zone; UTC when absent. */
  readonly zone?: string;
  /** Policy for slots that passed while no worker or dispatcher ran. Default: `last`. */
  readonly missed?: MissedPolicy;
  /** By how much a slot may be late before `skip` leaves it out; an hour when absent. */
  readonly tolerance?: Duration;
  /** What happens to a slot while a task of the schedule has not ended; `queue` when absent. */
  readonly overlap?: OverlapPolicy;
  /** The first slot is not before this moment. */
  readonly startAt?: number | Date;
  /** The last slot is before this moment. */
  readonly endAt?: number | Date;
  /** Spreads schedules of the same time: the tasks of this one are due by some part of it later, always the same part. At most a day. */
  readonly jitter?: Duration;
}

const SCHEDULE_OPTIONS = {
  ...TASK_OPTIONS,
  cron: true,
  zone: true,
  missed: true,
  tolerance: true,
  overlap: true,
  startAt: true,
  endAt: true,
  jitter: true,
} as const satisfies Record<keyof ScheduleOptions, true>;

/** A schedule that `defineSchedule` made: a module of tasks exports a list of them as `schedules`. */
export interface TaskSchedule {
  readonly kind: 'leasehold.schedule';
  readonly name: string;
  readonly task: TaskReference<unknown>;
  readonly input: unknown;
  readonly options: ScheduleOptions;
}

/**
 * Declares a task that recurs, for the export `schedules` of a module of tasks; it takes what `schedules.define` takes.
 * The expression, the zone and the input are checked when it is written down.
 * @throws ConfigurationError for a name or an option that cannot be used
 */
export function defineSchedule<Given>(
  name: string,
  task: TaskReference<Given>,
  input: NoInfer<Given>,
  options: ScheduleOptions,
): TaskSchedule {
  const valid = validScheduleOptions(name, options);
  return { kind: 'leasehold.schedule', name, task, input, options: valid };
}

/** @throws ConfigurationError */
export function validScheduleOptions(name: string, options: ScheduleOptions): ScheduleOptions {
  return validOptions(`the options of schedule ${validName('schedule name', name)}`, options, SCHEDULE_OPTIONS);
}

/** @throws ConfigurationError unless it is a list of results of `defineSchedule` with distinct names */
export function validSchedules(what: string, schedules: unknown): readonly TaskSchedule[] {
  if (!Array.isArray(schedules) || !schedules.every(isTaskSchedule))
    throw new ConfigurationError(
      `${what} = ${shown(schedules)}: must be a list of defineSchedule(name, task, input, options)`,
    );
  const names = schedules.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new ConfigurationError(`${what}: two of them are named ${shown(twice)}: rename one`);
  return schedules;
}

function isTaskSchedule(value: unknown): value is TaskSchedule {
  return (value as Partial<TaskSchedule> | null | undefined)?.kind === 'leasehold.schedule';
}
