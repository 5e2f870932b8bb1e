/** What users write: a task's name, the schema of its input, its policy, and its code. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { BulkPolicy, BulkPolicyOptions } from '../bulk/policy.ts';
import { bulkPolicy } from '../bulk/policy.ts';
import { ConfigurationError, shown } from '../errors.ts';
import type { Duration } from '../lease/duration.ts';
import { durationMs } from '../lease/duration.ts';
import { validName } from '../lease/name.ts';
import { validOptions } from '../lease/options.ts';
import type { TaskContext } from './context.ts';
import { validWholeNumber } from '../lease/whole-number.ts';

export interface RetryOptions {
  /** Claims before the task is dead, first one included. */
  readonly maxAttempts?: number;
  /** Bound of the wait before the first retry; it doubles with each, with full jitter. */
  readonly backoff?: Duration;
  /** Where the doubling stops. */
  readonly backoffCap?: Duration;
}

/** `Given` is what is enqueued, `Input` what the schema makes of it and `run` gets; without a schema they are the same. */
export interface TaskOptions<Input, Output, Given = Input> {
  readonly name: string;
  /** Any Standard Schema (zod, valibot, arktype, …): validates and transforms the input before `run` sees it. */
  readonly input?: StandardSchemaV1<Given, Input>;
  readonly retry?: RetryOptions;
  /** One attempt's time; absent: as long as the worker lives. */
  readonly timeout?: Duration;
  /** How tasks that are enqueued in bulk are packed, and how their ends are recorded. */
  readonly bulk?: BulkPolicyOptions;
  /**
   * The task's code. Runs at least once.
   * What it returns is kept as the result; `task.commit` completes it together with writes of your own instead.
   */
  run(input: Input, task: TaskContext): Promise<Output> | Output;
}

export interface RetryPolicy {
  readonly maxAttempts: number;
  readonly backoff: { readonly baseMs: number; readonly capMs: number };
}

export interface TaskDefinition<Input = never, Output = unknown, Given = Input> {
  readonly kind: 'leasehold.task';
  readonly name: string;
  readonly input: StandardSchemaV1<Given, Input> | undefined;
  readonly retry: RetryPolicy;
  readonly timeoutMs: number | undefined;
  readonly bulk: BulkPolicy;
  run(input: Input, task: TaskContext): Promise<Output> | Output;
}

/** Five claims with waits of up to 1, 2, 4 and 8 seconds: rides out a passing fault, and ends within a minute for a lasting one. */
export const DEFAULT_RETRY: RetryPolicy = { maxAttempts: 5, backoff: { baseMs: 1_000, capMs: 15 * 60_000 } };
const MAX_ATTEMPTS_LIMIT = 1_000;

const TASK_OPTIONS = { name: true, input: true, retry: true, timeout: true, bulk: true, run: true } as const;
const RETRY_OPTIONS = { maxAttempts: true, backoff: true, backoffCap: true } as const;

/** @throws ConfigurationError */
export function defineTask<Input, Output, Given = Input>(
  options: TaskOptions<Input, Output, Given>,
): TaskDefinition<Input, Output, Given> {
  validOptions('the options of defineTask', options, TASK_OPTIONS);
  const name = validName('task name', options.name);
  if (typeof options.run !== 'function')
    throw new ConfigurationError(`task ${name}: run is of type ${typeof options.run}: give its code, a function`);
  if (options.input !== undefined && !isSchema(options.input))
    throw new ConfigurationError(
      `task ${name}: input = ${shown(options.input)}: give a Standard Schema, such as one of zod, valibot or arktype`,
    );
  validOptions(`task ${name}: retry`, options.retry ?? {}, RETRY_OPTIONS);
  const maxAttempts = options.retry?.maxAttempts ?? DEFAULT_RETRY.maxAttempts;
  validWholeNumber(`task ${name}: retry.maxAttempts`, maxAttempts, { min: 1, max: MAX_ATTEMPTS_LIMIT });
  const { backoff, backoffCap } = options.retry ?? {};
  const baseMs =
    backoff === undefined ? DEFAULT_RETRY.backoff.baseMs : durationMs(`task ${name}: retry.backoff`, backoff);
  const capMs =
    backoffCap === undefined ? DEFAULT_RETRY.backoff.capMs : durationMs(`task ${name}: retry.backoffCap`, backoffCap);
  const timeoutMs = options.timeout === undefined ? undefined : durationMs(`task ${name}: timeout`, options.timeout);
  if (timeoutMs === 0) throw new ConfigurationError(`task ${name}: timeout = 0: give a time longer than zero`);
  return {
    kind: 'leasehold.task',
    name,
    input: options.input,
    retry: { maxAttempts, backoff: { baseMs, capMs: Math.max(baseMs, capMs) } },
    timeoutMs,
    bulk: bulkPolicy(`task ${name}`, options.bulk),
    run: (input, task) => options.run(input, task),
  };
}

function isSchema(schema: unknown): boolean {
  // Schemas of arktype are functions.
  const isHolder = typeof schema === 'function' || (typeof schema === 'object' && schema !== null);
  return isHolder && '~standard' in schema;
}

/** Definitions of any input type, as a worker holds them: the schema is what makes calling `run` safe. */
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
      throw new ConfigurationError(
        `two tasks are named ${value.name}: names are what stored tasks are run by, give each its own`,
      );
    registry.set(value.name, value);
  }
  if (registry.size === 0)
    throw new ConfigurationError('no task found among the exports: export at least one defineTask(...)');
  return registry;
}

/** What a schema has to say about an input, each with its place: `user.name: expected string`. */
export function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues.map(({ message, path }) => `${pathOf(path)}${message}`).join('; ');
}

function pathOf(path: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined): string {
  if (path === undefined || path.length === 0) return '';
  return `${path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')}: `;
}

function isTaskDefinition(value: unknown): value is AnyTask {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'leasehold.task';
}
