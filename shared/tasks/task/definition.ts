/** Task definitions, as users write them: the name, the input's schema, the policy, and the code. */
import { ConfigurationError, shown } from '../../core/errors.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { givenMs } from '../../core/validate/duration.ts';
import { validName, validWholeNumber, validOptions } from '../../core/validate/options.ts';
import { MAX_ATTEMPTS_LIMIT, validMaxAttempts, validTimeoutMs } from './bounds.ts';
import type { TaskContext } from './context.ts';
import type { TaskLinks, TaskPolicy } from './task.ts';
import type { StandardSchemaV1 } from '../../core/validate/standard-schema.ts';

export interface RetryOptions {
  /** Maximum claims, including the first. After these, the task is dead. */
  readonly maxAttempts?: number;
  /** Maximum claims whose worker crashes. After these, the task is dead. Default: `maxAttempts` if given, otherwise 5. */
  readonly maxDeaths?: number;
  /** Maximum wait before the first retry. It doubles with each retry, with full jitter. Default: 2 s. */
  readonly backoff?: Duration;
  /** Longest backoff. Default: 4 h. */
  readonly backoffCap?: Duration;
}

/** `Given` is the enqueued input, `Input` the schema's output and the argument of `run`; without a schema they are the same. */
export interface TaskOptions<Input, Output, Given = Input> {
  readonly name: string;
  /** Any Standard Schema (zod, valibot, arktype, …): validates and transforms the input before `run` sees it. */
  readonly input?: StandardSchemaV1<Given, Input>;
  readonly retry?: RetryOptions;
  /** Timeout of one attempt. Default: the worker's lifetime. */
  readonly timeout?: Duration;
  /**
   * The task's code. Runs at least once.
   * Its return value is kept as the result; instead, `task.commit` completes the task together with your own writes.
   */
  run(input: Input, task: TaskContext): Promise<Output> | Output;
}

export interface RetryPolicy {
  readonly maxAttempts: number;
  /** Not more than `maxAttempts`: each death is an attempt. */
  readonly maxDeaths: number;
  readonly backoff: { readonly baseMs: number; readonly capMs: number };
}

export interface TaskDefinition<Input = never, Output = unknown, Given = Input> {
  readonly kind: 'leasehold.task';
  readonly name: string;
  readonly input: StandardSchemaV1<Given, Input> | undefined;
  readonly retry: RetryPolicy;
  /** The policy of tasks in a line. Options of the definition also apply here, but the defaults are shorter. */
  readonly retryInLine: RetryPolicy;
  readonly timeoutMs: number | undefined;
  /** Each attempt continues from the records of earlier ones, so a hand-back repeats nothing that must not repeat. */
  readonly isDurable?: boolean;
  run(input: Input, task: TaskContext): Promise<Output> | Output;
}

/**
 * 25 claims over about one day, two at most: a task survives an outage of its dependencies.
 * Each wait is a random part of 2, 4, 8, … seconds, and from the fourteenth wait on, of four hours.
 * A task that kills its worker costs other tasks an attempt as well, so few deaths are allowed.
 */
const DEFAULT_RETRY: RetryPolicy = { maxAttempts: 25, maxDeaths: 5, backoff: { baseMs: 2_000, capMs: 4 * 3_600_000 } };
/** Five claims within a minute, because the head of a line blocks all tasks behind it. */
const DEFAULT_RETRY_IN_LINE: RetryPolicy = {
  maxAttempts: 5,
  maxDeaths: 5,
  backoff: { baseMs: 1_000, capMs: 15 * 60_000 },
};

const TASK_OPTIONS = ['name', 'input', 'retry', 'timeout', 'run'] as const;
const RETRY_OPTIONS = ['maxAttempts', 'maxDeaths', 'backoff', 'backoffCap'] as const;

/** @throws ConfigurationError */
export function defineTask<Input, Output, Given = Input>(
  options: TaskOptions<Input, Output, Given>,
): TaskDefinition<Input, Output, Given> {
  validOptions('the options of defineTask', options, TASK_OPTIONS);
  const name = validName('task name', options.name);
  if (typeof options.run !== 'function')
    throw new ConfigurationError(`task ${name}: run is of type ${typeof options.run}: pass its code, a function`);
  if (options.input !== undefined && !isSchema(options.input))
    throw new ConfigurationError(
      `task ${name}: input = ${shown(options.input)}: must be a Standard Schema, such as one of zod, valibot or arktype`,
    );
  return {
    kind: 'leasehold.task',
    name,
    input: options.input,
    retry: retryPolicy(name, options.retry, DEFAULT_RETRY),
    retryInLine: retryPolicy(name, options.retry, DEFAULT_RETRY_IN_LINE),
    timeoutMs: options.timeout === undefined ? undefined : validTimeoutMs(`task ${name}: timeout`, options.timeout),
    run: (input, task) => options.run(input, task),
  };
}

/** How often a task is tried, and when it is retried. */
export function retryOf(
  { retry, retryInLine }: AnyTask,
  { links, policy }: { readonly links?: TaskLinks | undefined; readonly policy?: TaskPolicy | undefined },
): RetryPolicy {
  const defined = links?.line === undefined ? retry : retryInLine;
  const { maxAttempts = defined.maxAttempts } = policy ?? {};
  return { ...defined, maxAttempts, maxDeaths: Math.min(maxAttempts, defined.maxDeaths) };
}

/** Whether its code may begin once: an attempt that has begun is never given to another. */
export function isAtMostOnce(definition: AnyTask, task: Parameters<typeof retryOf>[1]): boolean {
  return definition.isDurable !== true && retryOf(definition, task).maxAttempts === 1;
}

/** Timeout of one attempt. Undefined: the worker's lifetime. */
export function timeoutMsOf(
  definition: AnyTask,
  { policy }: { readonly policy?: TaskPolicy | undefined },
): number | undefined {
  return policy?.timeoutMs ?? definition.timeoutMs;
}

function retryPolicy(name: string, options: RetryOptions = {}, defaults: RetryPolicy): RetryPolicy {
  validOptions(`task ${name}: retry`, options, RETRY_OPTIONS);
  const { maxAttempts = defaults.maxAttempts, backoff, backoffCap } = options;
  validMaxAttempts(`task ${name}: retry.maxAttempts`, maxAttempts);
  const maxDeaths = options.maxDeaths ?? options.maxAttempts ?? defaults.maxDeaths;
  validWholeNumber(`task ${name}: retry.maxDeaths`, maxDeaths, { min: 1, max: MAX_ATTEMPTS_LIMIT });
  const baseMs = givenMs(`task ${name}: retry.backoff`, backoff) ?? defaults.backoff.baseMs;
  const capMs = givenMs(`task ${name}: retry.backoffCap`, backoffCap) ?? defaults.backoff.capMs;
  if (options.maxAttempts !== undefined && maxDeaths > options.maxAttempts)
    throw new ConfigurationError(
      `task ${name}: retry.maxDeaths = ${maxDeaths} is more than retry.maxAttempts = ${maxAttempts}: each death is an attempt`,
    );
  if (backoff !== undefined && backoffCap !== undefined && capMs < baseMs)
    throw new ConfigurationError(
      `task ${name}: retry.backoffCap = ${capMs} ms is below retry.backoff = ${baseMs} ms: the longest wait is at least the first`,
    );
  return {
    maxAttempts,
    maxDeaths: Math.min(maxAttempts, maxDeaths),
    backoff: { baseMs, capMs: Math.max(baseMs, capMs) },
  };
}

function isSchema(schema: unknown): boolean {
  // arktype's schemas are functions.
  const isHolder = typeof schema === 'function' || (typeof schema === 'object' && schema !== null);
  return isHolder && '~standard' in schema;
}

/** A definition of any input type, as a worker stores it. The schema makes it safe to call `run`. */
export type AnyTask = TaskDefinition<never, unknown, unknown>;

/** The tasks that one worker knows, by name. */
export type TaskRegistry = ReadonlyMap<string, AnyTask>;

/**
 * Collects the task definitions among the exports of a module (or any record); other exports are ignored.
 * @throws ConfigurationError when two share a name or there is none
 */
export function registerTasks(exports: Readonly<Record<string, unknown>>): TaskRegistry {
  const registry = new Map<string, AnyTask>();
  for (const value of Object.values(exports)) {
    if (!isTaskDefinition(value)) continue;
    const known = registry.get(value.name);
    if (known !== undefined && known !== value)
      throw new ConfigurationError(`two tasks are named ${value.name}: use a different name for each`);
    registry.set(value.name, value);
  }
  if (registry.size === 0)
    throw new ConfigurationError('no task found among the exports: export at least one defineTask(...)');
  return registry;
}

function isTaskDefinition(value: unknown): value is AnyTask {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'leasehold.task';
}
