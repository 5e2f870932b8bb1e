/** Builds a schedule's definition from the user's input, and validates all of it here, once. */
import { ConfigurationError, shown } from '../../core/errors.ts';
import { givenMs, spanMs } from '../../core/validate/duration.ts';
import { validMoment } from '../../core/validate/moment.ts';
import type { RequestDefaults } from '../task/task-request.ts';
import { newTaskOf } from '../task/task-request.ts';
import { INPUT_LIMIT_BYTES } from '../task/task.ts';
import { validCron } from './cron.ts';
import type { TaskSchedule } from './declaration.ts';
import { validScheduleOptions } from './declaration.ts';
import type { OverlapPolicy, ScheduleDefinition } from './schedule.ts';
import {
  MISSED_POLICIES,
  OVERLAP_POLICIES,
  SCHEDULE_OPTIONS_LIMIT_CHARACTERS,
  nextOccurrence,
  occurrenceTaskId,
} from './schedule.ts';

/** As long as the longest tick interval in the examples. */
const DEFAULT_TOLERANCE_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** @throws ConfigurationError naming what cannot be used */
export async function scheduleDefinitionOf(
  { name, task, input, options: given }: Omit<TaskSchedule, 'kind'>,
  defaults: Pick<RequestDefaults, 'runtime' | 'queue'>,
): Promise<ScheduleDefinition> {
  const {
    cron,
    zone = 'UTC',
    startAt,
    endAt,
    jitter,
    missed = 'last',
    tolerance,
    overlap = 'queue',
    ...ofTasks
  } = validScheduleOptions(name, given);
  const { queue = defaults.queue, ...options } = ofTasks;
  const what = `schedule ${name}`;
  if (options.expires !== undefined && spanMs(options.expires) === undefined)
    throw new ConfigurationError(
      `${what}: expires = ${shown(options.expires)}: must be a text with a unit such as '1h', from when each task is due`,
    );
  const times = validCron(what, { cron, zone }, defaults.runtime.clock.now());
  // Validated like each occurrence's task. A payload store would not help, because the schedule's row contains the input.
  const first = await newTaskOf(
    task,
    input,
    { ...options, queue, id: occurrenceTaskId({ name }, 0) },
    { ...defaults, hasPayloadStore: true },
  );
  if (first.payload !== undefined)
    throw new ConfigurationError(
      `${what}: its input has ${first.payload.bytes} bytes as JSON, and its row takes ` +
        `${INPUT_LIMIT_BYTES}; store it elsewhere and pass a reference`,
    );
  const definition = {
    name,
    ...times,
    queue: first.queue,
    task: first.name,
    input: first.input,
    options: storedOptions(what, options),
    missed: oneOf(`${what}: missed`, missed, MISSED_POLICIES),
    overlap: validOverlap(what, overlap, { isOrdered: options.ordered === true }),
    toleranceMs: givenMs(`${what}: tolerance`, tolerance) ?? DEFAULT_TOLERANCE_MS,
    startAt: startAt === undefined ? undefined : validMoment(`${what}: startAt`, startAt),
    endAt: endAt === undefined ? undefined : validMoment(`${what}: endAt`, endAt),
    jitterMs: validJitter(what, givenMs(`${what}: jitter`, jitter) ?? 0),
  };
  if (definition.startAt !== undefined) ensureHasOccurrence(definition, definition.startAt - 1);
  return definition;
}

function storedOptions<Options>(what: string, options: Options): Options {
  const text = JSON.stringify(options);
  if (text.length > SCHEDULE_OPTIONS_LIMIT_CHARACTERS)
    throw new ConfigurationError(
      `${what}: its task's options have ${text.length} characters as JSON: at most ${SCHEDULE_OPTIONS_LIMIT_CHARACTERS}`,
    );
  return JSON.parse(text) as Options;
}

function oneOf<T extends string>(what: string, value: unknown, known: readonly T[]): T {
  const found = known.find((one) => one === value);
  if (found === undefined)
    throw new ConfigurationError(`${what} = ${shown(value)}: must be one of ${known.join(', ')}`);
  return found;
}

/** A task can be in only one line: its schedule's or its key's. */
function validOverlap(what: string, overlap: unknown, { isOrdered }: { readonly isOrdered: boolean }): OverlapPolicy {
  const policy = oneOf(`${what}: overlap`, overlap, OVERLAP_POLICIES);
  if (isOrdered && policy !== 'queue')
    throw new ConfigurationError(
      `${what}: overlap = ${policy} and ordered are both given: ordered tasks wait for each other, as with overlap = queue`,
    );
  return policy;
}

function validJitter(what: string, jitterMs: number): number {
  if (jitterMs > DAY_MS) throw new ConfigurationError(`${what}: jitter = ${jitterMs} ms: must be at most a day`);
  return jitterMs;
}

/** @throws ConfigurationError when its bounds leave no occurrence after a time */
export function ensureHasOccurrence(definition: ScheduleDefinition, after: number): void {
  const { name, startAt, endAt } = definition;
  if (endAt === undefined || nextOccurrence(definition, after) !== undefined) return;
  const [start, end] = [Math.max(after, startAt ?? 0), endAt].map((at) => new Date(at).toISOString());
  const from = startAt !== undefined && startAt > after ? 'startAt =' : 'now,';
  throw new ConfigurationError(
    `schedule ${name}: no occurrence from ${from} ${start} to endAt = ${end}: pass a longer span`,
  );
}
