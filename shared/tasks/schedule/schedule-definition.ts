/** Builds a schedule's definition from the user's input, and validates all of it here, once. */
import { ConfigurationError, shown } from '../../core/errors.ts';
import { givenMs } from '../../core/validate/duration.ts';
import { validMoment } from '../../core/validate/moment.ts';
import type { RequestDefaults } from '../task/task-request.ts';
import { newTaskOf } from '../task/task-request.ts';
import { INPUT_LIMIT_BYTES } from '../task/task.ts';
import { validCron } from './cron.ts';
import type { TaskSchedule } from './declaration.ts';
import { validScheduleOptions } from './declaration.ts';
import type { OverlapPolicy, ScheduleDefinition } from './schedule.ts';
import { MISSED_POLICIES, OVERLAP_POLICIES, nextSlot, slotTaskId } from './schedule.ts';

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
    zone,
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
  const times = validCron(what, { cron, zone: zone ?? 'UTC' }, defaults.runtime.clock.now());
  // Validated like each slot's task. A payload store would not help, because the schedule's row contains the input of all its slots.
  const first = await newTaskOf(
    task,
    input,
    { ...options, queue, id: slotTaskId({ name }, 0) },
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
    options: JSON.parse(JSON.stringify(options)) as typeof options,
    missed: oneOf(`${what}: missed`, missed, MISSED_POLICIES),
    overlap: validOverlap(what, overlap, { isOrdered: options.ordered === true }),
    toleranceMs: givenMs(`${what}: tolerance`, tolerance) ?? DEFAULT_TOLERANCE_MS,
    startAt: startAt === undefined ? undefined : validMoment(`${what}: startAt`, startAt),
    endAt: endAt === undefined ? undefined : validMoment(`${what}: endAt`, endAt),
    jitterMs: validJitter(what, givenMs(`${what}: jitter`, jitter) ?? 0),
  };
  ensureHasSlot(what, definition);
  return definition;
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

function ensureHasSlot(what: string, definition: ScheduleDefinition): void {
  const { startAt, endAt } = definition;
  if (startAt === undefined || endAt === undefined || nextSlot(definition, startAt - 1) !== undefined) return;
  const [start, end] = [startAt, endAt].map((at) => new Date(at).toISOString());
  throw new ConfigurationError(`${what}: no slot from startAt = ${start} to endAt = ${end}: pass a longer span`);
}
