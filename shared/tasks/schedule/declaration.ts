/** Recurring tasks as declared in code. A declaration has no effect until `ScheduleClient` stores it. */
import { ConfigurationError, shown } from '../../core/errors.ts';
import type { SharedTaskOptions, TaskReference } from '../task/task-request.ts';
import { optionsIn } from '../task/task-request.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { validName, validOptions } from '../../core/validate/options.ts';
import type { MissedPolicy, OverlapPolicy } from './schedule.ts';

/** When the schedule recurs, and the options of its tasks: the options of `enqueue`. */
export interface ScheduleOptions extends SharedTaskOptions {
  /** Five fields, or six with seconds in front. */
  readonly cron: string;
  /** An IANA time zone. Default: UTC. */
  readonly zone?: string;
  /** Policy for occurrences that passed while no worker or dispatcher ran. Default: `last`. */
  readonly missed?: MissedPolicy;
  /** How late an occurrence may be before `skip` leaves it out. Default: an hour. */
  readonly tolerance?: Duration;
  /** Policy for an occurrence while a task of the schedule has not ended. Default: `queue`. */
  readonly overlap?: OverlapPolicy;
  /** Earliest time of the first occurrence. */
  readonly startAt?: number | Date;
  /** The last occurrence is before this time. */
  readonly endAt?: number | Date;
  /** Spreads schedules that have the same time: this schedule's tasks are due later by a fixed part of this duration. At most a day. */
  readonly jitter?: Duration;
}

const SCHEDULE_OPTIONS = [
  ...optionsIn('schedule'),
  'cron',
  'zone',
  'missed',
  'tolerance',
  'overlap',
  'startAt',
  'endAt',
  'jitter',
] as const;

/** A result of `defineSchedule`. A module of tasks exports a list of these as `schedules`. */
export interface TaskSchedule {
  readonly kind: 'leasehold.schedule';
  readonly name: string;
  readonly task: TaskReference<unknown>;
  readonly input: unknown;
  readonly options: ScheduleOptions;
}

/**
 * Declares a recurring task, for the export `schedules` of a module of tasks. It has the same parameters as `schedules.define`.
 * The call checks the expression, the zone and the input.
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
