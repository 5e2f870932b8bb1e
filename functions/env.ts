/**
 * The contract between the stack and the handlers: the names of the environment variables, and the one place that reads them.
 * `infra/` writes these names, the handlers parse them when they are loaded;
 * a value that cannot be used ends the start-up with its name and value.
 */
import { ConfigurationError, shown } from '../shared/core/errors.ts';
import { givenName, validName } from '../shared/core/validate/options.ts';
import type { TaskSchedule } from '../shared/tasks/schedule/declaration.ts';
import { defineSchedule } from '../shared/tasks/schedule/declaration.ts';
import type { SessionTiming } from '../shared/core/lease/timing.ts';
import { DEFAULT_MAX_CLOCK_SKEW_MS, sessionTiming } from '../shared/core/lease/timing.ts';
import {
  DEFAULT_CONCURRENCY,
  DEFAULT_QUEUE,
  DEFAULT_SHARDS,
  MAX_CONCURRENCY,
  MAX_SHARDS,
} from '../shared/tasks/task/task.ts';
import type { AttemptSpans } from '../shared/tasks/tracing/task-spans.ts';
import { validAttemptSpans } from '../shared/tasks/tracing/task-spans.ts';

/** Settings for the stack, which does not see tasks. */
export type { AttemptSpans } from '../shared/tasks/tracing/task-spans.ts';
export { ATTEMPT_SPANS, DEFAULT_ATTEMPT_SPANS, validAttemptSpans } from '../shared/tasks/tracing/task-spans.ts';
export { DEFAULT_CONCURRENCY, DEFAULT_QUEUE, DEFAULT_SHARDS, MAX_CONCURRENCY, MAX_SHARDS };

export const ENV = {
  table: 'LEASEHOLD_TABLE',
  queue: 'LEASEHOLD_QUEUE',
  /** Name or ARN of the function that the dispatcher invokes. */
  workerFunction: 'LEASEHOLD_WORKER_FUNCTION',
  maxWorkers: 'LEASEHOLD_MAX_WORKERS',
  startWithinMs: 'LEASEHOLD_START_WITHIN_MS',
  concurrency: 'LEASEHOLD_CONCURRENCY',
  shards: 'LEASEHOLD_SHARDS',
  sessionTtlMs: 'LEASEHOLD_SESSION_TTL_MS',
  heartbeatMs: 'LEASEHOLD_HEARTBEAT_MS',
  lockDelayMs: 'LEASEHOLD_LOCK_DELAY_MS',
  maxClockSkewMs: 'LEASEHOLD_MAX_CLOCK_SKEW_MS',
  deadlineMarginMs: 'LEASEHOLD_DEADLINE_MARGIN_MS',
  /** How long an idle worker stays. */
  lingerMs: 'LEASEHOLD_LINGER_MS',
  /** The queues of a waker: a list of `WakeSettings`, as JSON. */
  wakeQueues: 'LEASEHOLD_WAKE_QUEUES',
  /** The recurring tasks that the stack declares: a list, as `schedulesText` writes it. */
  schedules: 'LEASEHOLD_SCHEDULES',
  /** Whether a worker that nears its deadline with tasks left starts its successor. */
  continuation: 'LEASEHOLD_CONTINUATION',
  /** Whether a worker logs each attempt that ends. */
  logEnds: 'LEASEHOLD_LOG_ENDS',
  /** Version of the task code, shown to operators. */
  codeVersion: 'LEASEHOLD_CODE_VERSION',
  /** Whether the queue lists its finished tasks: 1 or 0. */
  listFinished: 'LEASEHOLD_LIST_FINISHED',
  /** How attempt spans relate to the context in the task's row: `parent` or `link`. */
  attemptSpans: 'LEASEHOLD_ATTEMPT_SPANS',
  /** Names of tasks with their own time metrics: a list, as JSON. */
  timedNames: 'LEASEHOLD_TIMED_NAMES',
  /** Endpoint of a DynamoDB other than AWS's, for laptops and tests. */
  endpoint: 'LEASEHOLD_ENDPOINT',
} as const;

/** Enough for 100 concurrent tasks, and a moderate load for the services that they call. Raise this first. */
export const DEFAULT_MAX_WORKERS = 10;
/** The permits of all workers share one row of at most 400 KB, and Lambda's default account limit is as many. */
export const MAX_WORKERS_LIMIT = 1_000;
/** A start costs about a second of a worker: a tenth of what it then has to do. */
export const DEFAULT_START_WITHIN_MS = 10_000;
/** No worker lives longer. */
export const MAX_START_WITHIN_MS = 900_000;
/** Time to abort running tasks, hand them back and end the session before Lambda stops the process, even with slow responses. */
export const DEFAULT_DEADLINE_MARGIN_MS = 10_000;
/** An idle worker exits, because its time is billed and the table's stream starts another worker. */
export const DEFAULT_LINGER_MS = 0;
const LONGEST_INVOCATION_MS = 900_000;

/** Whole numbers among the settings. The stack checks and writes them, and the functions read them. */
export const NUMBERS = {
  shards: { min: 1, max: MAX_SHARDS, default: DEFAULT_SHARDS },
  maxWorkers: { min: 1, max: MAX_WORKERS_LIMIT, default: DEFAULT_MAX_WORKERS },
  startWithinMs: { min: 0, max: MAX_START_WITHIN_MS, default: DEFAULT_START_WITHIN_MS },
  concurrency: { min: 1, max: MAX_CONCURRENCY, default: DEFAULT_CONCURRENCY },
  maxClockSkewMs: { min: 0, default: DEFAULT_MAX_CLOCK_SKEW_MS },
  deadlineMarginMs: { min: 0, default: DEFAULT_DEADLINE_MARGIN_MS },
  lingerMs: { min: 0, max: LONGEST_INVOCATION_MS, default: DEFAULT_LINGER_MS },
} as const;

/** Lambda allows 4 KB for all variables of a function. */
export const TIMED_NAMES_LIMIT_CHARACTERS = 2_000;

/** The name of ticks that no schedule sends; the names of schedules have no slash. */
export const continuationSchedule = (queue: string): string => `continue/${queue}`;

/** Every write of a superseded worker is refused, so its successor need not wait until it has surely stopped. */
export const DEFAULT_WORKER_LOCK_DELAY_MS = 0;

export type Environment = Readonly<Record<string, string | undefined>>;

interface QueueEnv {
  readonly table: string;
  readonly queue: string;
  readonly shards: number;
  /** The hard cap on live workers: the limit of the semaphore that they take their permits from. */
  readonly maxWorkers: number;
  readonly endpoint: string | undefined;
}

export interface DispatchEnv extends QueueEnv {
  readonly workerFunction: string;
  /** Time within which the last waiting task should start, as far as `maxWorkers` allows. */
  readonly startWithinMs: number;
  /** Tasks that one worker runs at once. */
  readonly concurrency: number;
  readonly maxClockSkewMs: number;
  /** The recurring tasks that the stack declares. */
  readonly schedules: readonly TaskSchedule[];
  /** Whether to list finished tasks. Undefined: as the queue's row says. */
  readonly listFinished: boolean | undefined;
}

export interface WorkEnv extends QueueEnv {
  /** Tasks that one worker runs at once. */
  readonly concurrency: number;
  readonly timing: SessionTiming;
  /** How long before the invocation's deadline running tasks are handed back. */
  readonly deadlineMarginMs: number;
  /** How long an idle worker stays. This time is billed. */
  readonly lingerMs: number;
  /** Whether a worker that must end while tasks are left starts its successor. */
  readonly continuation: boolean;
  /** Whether each attempt that ends is a line of the log. */
  readonly logEnds: boolean;
  readonly codeVersion: string | undefined;
  readonly attemptSpans: AttemptSpans;
  /** Longest task time that is measured, because plans do not use longer times. */
  readonly startWithinMs: number;
  /** Names of tasks with their own time metrics. */
  readonly timedNames: readonly string[];
}

/** @throws ConfigurationError naming the variable and its value */
export function parseDispatchEnv(env: Environment = process.env): DispatchEnv {
  const schedules = parseSchedules(env[ENV.schedules]);
  const common = parseQueueEnv(env);
  ensureOfQueue(schedules, common.queue);
  return {
    ...common,
    workerFunction: required(env, ENV.workerFunction),
    startWithinMs: numberOf(env, 'startWithinMs'),
    concurrency: numberOf(env, 'concurrency'),
    maxClockSkewMs: numberOf(env, 'maxClockSkewMs'),
    schedules,
    listFinished: env[ENV.listFinished] === undefined ? undefined : isOn(env, ENV.listFinished),
  };
}

/** A waker's settings of one queue; missing ones have their defaults. */
export type WakeSettings = Pick<DispatchEnv, 'queue' | 'workerFunction'> &
  Partial<Pick<DispatchEnv, 'maxWorkers' | 'startWithinMs' | 'concurrency' | 'shards' | 'maxClockSkewMs'>>;

interface WakeEnv {
  readonly queues: readonly [DispatchEnv, ...DispatchEnv[]];
}

/** @throws ConfigurationError naming the variable and its value */
export function parseWakeEnv(env: Environment = process.env): WakeEnv {
  const [first, ...others] = wakeQueues(env).map((settings) => parseDispatchEnv({ ...env, ...variablesOf(settings) }));
  if (first === undefined) throw new ConfigurationError(`${ENV.wakeQueues} names no queue: the stack sets it`);
  const names = [first, ...others].map(({ queue }) => queue);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new ConfigurationError(`${ENV.wakeQueues} names queue ${twice} twice: its workers would be started twice`);
  return { queues: [first, ...others] };
}

function wakeQueues(env: Environment): readonly WakeSettings[] {
  const text = required(env, ENV.wakeQueues);
  try {
    const queues: unknown = JSON.parse(text);
    if (Array.isArray(queues)) return queues as WakeSettings[];
  } catch {
    // Invalid JSON is not a list of queues: the same error reports it.
  }
  throw new ConfigurationError(`${ENV.wakeQueues} = ${JSON.stringify(text)}: must be a list of queues as JSON`);
}

/** Returns the variables in which a function finds these settings. */
export function variablesOf(settings: Partial<Record<keyof typeof ENV, string | number>>): Record<string, string> {
  const given = Object.entries(settings).map(([name, value]) => [ENV[name as keyof typeof ENV], String(value)]);
  return Object.fromEntries(given) as Record<string, string>;
}

/** Leaves out defaults, because Lambda allows 4 KB for all variables of a function. */
export function withoutDefaults<Name extends keyof typeof NUMBERS>(
  settings: Readonly<Record<Name, number>>,
): Partial<Record<Name, number>> {
  const changed = Object.entries(settings).filter(([name, value]) => value !== NUMBERS[name as Name].default);
  return Object.fromEntries(changed) as Partial<Record<Name, number>>;
}

/** @throws ConfigurationError naming the variable and its value, or both settings of a violated constraint */
export function parseWorkEnv(env: Environment = process.env): WorkEnv {
  const [deadlineMarginMs, lingerMs] = [numberOf(env, 'deadlineMarginMs'), numberOf(env, 'lingerMs')];
  if (lingerMs > 0 && lingerMs + deadlineMarginMs > LONGEST_INVOCATION_MS)
    throw new ConfigurationError(
      `${ENV.lingerMs} = ${lingerMs} and ${ENV.deadlineMarginMs} = ${deadlineMarginMs} are together longer than ` +
        `Lambda's longest invocation, ${LONGEST_INVOCATION_MS} ms: no worker stays so long`,
    );
  return {
    ...parseQueueEnv(env),
    concurrency: numberOf(env, 'concurrency'),
    timing: parseTiming(env),
    deadlineMarginMs,
    lingerMs,
    continuation: isOn(env, ENV.continuation),
    logEnds: isOn(env, ENV.logEnds),
    codeVersion: givenName(ENV.codeVersion, env[ENV.codeVersion]),
    attemptSpans: validAttemptSpans(env[ENV.attemptSpans], ENV.attemptSpans),
    startWithinMs: numberOf(env, 'startWithinMs'),
    timedNames: parseTimedNames(env[ENV.timedNames]),
  };
}

function parseQueueEnv(env: Environment): QueueEnv {
  return {
    table: required(env, ENV.table),
    queue: validName(ENV.queue, env[ENV.queue] ?? DEFAULT_QUEUE),
    shards: numberOf(env, 'shards'),
    maxWorkers: numberOf(env, 'maxWorkers'),
    endpoint: endpointUrl(env),
  };
}

/** Returns schedules in the form of the dispatcher's variable, which contains only the name of each task. */
export function schedulesText(schedules: readonly TaskSchedule[]): string {
  return JSON.stringify(
    schedules.map(({ name, task, input, options }) => [
      name,
      typeof task === 'string' ? task : task.name,
      input,
      options,
    ]),
  );
}

function parseSchedules(text: string | undefined): readonly TaskSchedule[] {
  if (text === undefined) return [];
  try {
    const all = JSON.parse(text) as Parameters<typeof defineSchedule>[];
    return all.map((each) => defineSchedule(...each));
  } catch (cause) {
    throw new ConfigurationError(`${ENV.schedules} is not what the stack writes: ${String(cause)}`, { cause });
  }
}

/** @throws ConfigurationError for a schedule of another queue, which the dispatcher may not define */
export function ensureOfQueue(schedules: readonly TaskSchedule[], queue: string): void {
  for (const { name, options } of schedules)
    if (options.queue !== undefined && options.queue !== queue)
      throw new ConfigurationError(
        `schedule ${name}: queue = "${options.queue}", and the dispatcher serves queue "${queue}": ` +
          'omit the option, or define the schedule for that queue',
      );
}

/** 1 or 0. */
function isOn(env: Environment, name: string): boolean {
  return wholeNumber(env, name, { min: 0, max: 1, default: 0 }) === 1;
}

function numberOf(env: Environment, name: keyof typeof NUMBERS): number {
  return wholeNumber(env, ENV[name], NUMBERS[name]);
}

function parseTimedNames(text = '[]'): readonly string[] {
  try {
    return validTimedNames(JSON.parse(text));
  } catch (cause) {
    throw new ConfigurationError(`${ENV.timedNames} is not what the stack writes: ${String(cause)}`, { cause });
  }
}

/** @throws ConfigurationError unless it is a list of names that fits into the worker's variables */
export function validTimedNames(names: unknown): readonly string[] {
  if (!Array.isArray(names)) throw new ConfigurationError(`timedNames = ${shown(names)}: must be a list of task names`);
  const characters = JSON.stringify(names).length;
  if (characters > TIMED_NAMES_LIMIT_CHARACTERS)
    throw new ConfigurationError(
      `timedNames has ${characters} characters as JSON: at most ${TIMED_NAMES_LIMIT_CHARACTERS} are allowed`,
    );
  return names.map((name) => validName('a name of timedNames', name));
}

/** Defaults and constraints are the protocol's own. For example, the default heartbeat is a third of the TTL. */
function parseTiming(env: Environment): SessionTiming {
  const timing = sessionTiming({
    ttlMs: optionalNumber(env, ENV.sessionTtlMs),
    heartbeatMs: optionalNumber(env, ENV.heartbeatMs),
    lockDelayMs: optionalNumber(env, ENV.lockDelayMs) ?? DEFAULT_WORKER_LOCK_DELAY_MS,
    maxClockSkewMs: optionalNumber(env, ENV.maxClockSkewMs),
  });
  const { ttlMs, maxClockSkewMs } = timing;
  if (ttlMs !== null && maxClockSkewMs > ttlMs)
    throw new ConfigurationError(
      `${ENV.maxClockSkewMs} = ${maxClockSkewMs} is longer than ${ENV.sessionTtlMs} = ${ttlMs}: ` +
        'takeovers would wait mostly for clocks; correct the clocks or raise the TTL',
    );
  return timing;
}

export function required(env: Environment, name: string): string {
  const value = env[name];
  if (value === undefined || value === '')
    throw new ConfigurationError(
      `${name} is ${value === '' ? 'empty' : 'not set'}: the stack sets it for its functions`,
    );
  return value;
}

export function endpointUrl(env: Environment): string | undefined {
  const value = env[ENV.endpoint];
  if (value === undefined) return undefined;
  if (!/^https?:$/.test(URL.parse(value)?.protocol ?? ''))
    throw new ConfigurationError(
      `${ENV.endpoint} = ${JSON.stringify(value)}: must be a URL such as http://127.0.0.1:8000`,
    );
  return value;
}

interface Bounds {
  readonly min: number;
  readonly max?: number;
}

export function wholeNumber(
  env: Environment,
  name: string,
  { default: byDefault, ...bounds }: Bounds & { default: number },
): number {
  const value = env[name];
  return value === undefined ? byDefault : parseNumber(name, value, bounds);
}

function optionalNumber(env: Environment, name: string): number | undefined {
  const value = env[name];
  return value === undefined ? undefined : parseNumber(name, value, { min: 0 });
}

function parseNumber(name: string, value: string, { min, max = Number.MAX_SAFE_INTEGER }: Bounds): number {
  // `Number` alone would read '' as 0 and '1e3' as 1000.
  const parsed = /^\d{1,16}$/.test(value) ? Number(value) : NaN;
  if (!(parsed >= min && parsed <= max))
    throw new ConfigurationError(
      `${name} = ${JSON.stringify(value)}: must be a whole number ` +
        (max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`),
    );
  return parsed;
}
