/** Turns an occurrence into a task, as `enqueue` would create it, and applies the schedule's overlap policy. */
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { NewTask } from '../task/task-store.ts';
import { newTaskOf } from '../task/task-request.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';
import type { MakeOutcome, ScheduleStore, ScheduleDefinition, ScheduleRecord } from './schedule.ts';
import { lineOfSchedule, occurrenceOf, occurrenceTaskId } from './schedule.ts';

export interface OccurrencePorts {
  readonly schedules: Pick<ScheduleStore, 'makeOccurrence' | 'stopEarlier'>;
  readonly runtime: Runtime;
  readonly spans?: TaskSpans | undefined;
}

/** An occurrence, the due time of its task, and the schedule's next occurrence. */
export interface DueOccurrence {
  readonly at: number;
  readonly runAt: number;
  readonly nextAt: number | undefined;
}

/**
 * With `replace`, earlier tasks are first requested to stop. After a crash in between, the occurrence is still due.
 * @throws ConfigurationError when the row contains options that this version does not know
 */
export async function makeOccurrence(
  schedule: ScheduleRecord,
  occurrence: DueOccurrence,
  ports: OccurrencePorts,
): Promise<MakeOutcome> {
  const { schedules, runtime, spans } = ports;
  const { at, nextAt } = occurrence;
  const task = await occurrenceTaskOf(schedule, occurrence, runtime);
  const { overlap } = schedule;
  if (overlap === 'replace')
    await schedules.stopEarlier(schedule, at, `replaced by ${task.id}`.slice(0, REASON_CHARACTERS), runtime);
  const traced = spans?.create(task, occurrence.runAt) ?? task;
  const step = { nextAt, lastAt: at, onlyIfIdle: overlap === 'skip' };
  return schedules.makeOccurrence(schedule, traced, step, stampOf(runtime));
}

/** @throws ConfigurationError */
export async function occurrenceTaskOf(
  schedule: ScheduleDefinition & Pick<ScheduleRecord, 'lastAt'>,
  { at, runAt }: Pick<DueOccurrence, 'at' | 'runAt'>,
  runtime: Runtime,
): Promise<NewTask> {
  const { queue, task: name, input, options, overlap } = schedule;
  const id = occurrenceTaskId(schedule, at);
  const task = await newTaskOf(name, input, { ...options, id, delay: new Date(runAt) }, { runtime, queue });
  // Tasks with `ordered` and their own key use that key's line.
  const line = overlap === 'allow' ? task.line : (task.line ?? lineOfSchedule(schedule));
  return { ...task, line, dedup: undefined, schedule: occurrenceOf(schedule, at) };
}

const REASON_CHARACTERS = 200;
