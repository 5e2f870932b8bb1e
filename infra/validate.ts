/**
 * Checks of the stack before it is deployed.
 * A setting, or a pair of settings, that could not work or would be
 * unsafe ends the synthesis with one sentence that names it and its value.
 * The checks call the protocol's rules instead of repeating them.
 */
import { statSync } from 'node:fs';
import { Token } from 'aws-cdk-lib';
import type { Tracing } from 'aws-cdk-lib/aws-lambda';
import type { AttemptSpans } from '../functions/env.ts';
import { NUMBERS, ensureOfQueue, schedulesText, validAttemptSpans, validTimedNames } from '../functions/env.ts';
import { ConfigurationError } from '../shared/core/errors.ts';
import { systemClock } from '../shared/core/runtime/clock.ts';
import { validCron } from '../shared/tasks/schedule/cron.ts';
import type { TaskSchedule } from '../shared/tasks/schedule/declaration.ts';
import { validSchedules } from '../shared/tasks/schedule/declaration.ts';
import { MAX_TTL_MS, MIN_TTL_MS, validateSessionTiming } from '../shared/core/lease/timing.ts';

/** Settings of a queue's workers that can be invalid, alone or in combination; times in milliseconds. */
export interface WorkerSettings {
  /** Undefined: the worker is the user's own function. */
  readonly entry: string | undefined;
  readonly queue: string;
  /** As EventBridge Scheduler writes it. */
  readonly schedule: string;
  readonly maxWorkers: number;
  readonly startWithinMs: number;
  readonly concurrency: number;
  readonly shards: number;
  readonly sessionTtlMs: number;
  readonly heartbeatMs: number;
  readonly lockDelayMs: number;
  readonly maxClockSkewMs: number;
  readonly workerTimeoutMs: number;
  readonly deadlineMarginMs: number;
  readonly lingerMs: number;
  readonly workerMemoryMb: number;
  readonly continuation: boolean;
  readonly attemptSpans: AttemptSpans;
  readonly logEnds: boolean;
  readonly codeVersion: string | undefined;
  readonly listFinished: boolean | undefined;
  readonly timedNames: readonly string[];
  /** X-Ray's mode in all functions; absent: active. */
  readonly tracing: Tracing | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly schedules: readonly TaskSchedule[];
}

const MINUTE_MS = 60_000;
const LAMBDA_MAX_TIMEOUT_MS = 15 * MINUTE_MS;
const LAMBDA_MEMORY_MB = { min: 128, max: 10_240 };
/** Minimum time between a worker's start and its margin: enough for a cold start, a session, and a claim. */
const MIN_WORKING_TIME_MS = 5_000;
/** Queue names become metric dimensions and patterns in policies, where `*`, `?` and `$` have another meaning. */
const QUEUE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const EVERY_FEW_MINUTES = /^cron\((?:\*|[*0]\/(\d+)) \* (?:\* \* \?|\* \? \*|\? \* \*) \*\)$/;
const UNIT_MS = { minute: MINUTE_MS, hour: 60 * MINUTE_MS, day: 24 * 60 * MINUTE_MS };

/** Maximum size of the schedules in the dispatcher's environment. Lambda's limit is 4 KB; the rest is for the other variables. */
const SCHEDULES_LIMIT_CHARACTERS = 3_000;

/** The ready index stores the recurring schedules of all queues under this name, so a queue with this name could read them. */
const RESERVED_QUEUE = 'schedule';

/** @throws ConfigurationError with one sentence that names the setting, or both, and their values */
export function validateWorkers(settings: WorkerSettings): void {
  validateQueue(settings.queue);
  if (settings.queue === RESERVED_QUEUE)
    throw new ConfigurationError(`queue = "${RESERVED_QUEUE}" is reserved for recurring tasks: use another name`);
  validateSchedules(settings);
  validateSchedule(settings.schedule);
  wholeNumber('maxWorkers', settings.maxWorkers, NUMBERS.maxWorkers);
  wholeNumber('startWithin in ms', settings.startWithinMs, NUMBERS.startWithinMs);
  wholeNumber('concurrency', settings.concurrency, NUMBERS.concurrency);
  wholeNumber('shards', settings.shards, NUMBERS.shards);
  wholeNumber('workerMemory', settings.workerMemoryMb, LAMBDA_MEMORY_MB);
  validateTimes(settings);
  validAttemptSpans(settings.attemptSpans);
  validTimedNames(settings.timedNames);
  validateEnvironment(settings.environment);
}

/**
 * Returns the time between two ticks, if the expression shows it. A cron expression does if it is for every minute or every N minutes.
 */
export function periodMs(expression: string): number | undefined {
  const [isCron, step = '1'] = EVERY_FEW_MINUTES.exec(expression) ?? [];
  if (isCron !== undefined) return 60 % Number(step) === 0 ? Number(step) * MINUTE_MS : undefined;
  const [, count, unit] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  return count === undefined ? undefined : Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

function validateTimes(settings: WorkerSettings): void {
  const { sessionTtlMs, heartbeatMs, lockDelayMs, maxClockSkewMs, workerTimeoutMs, deadlineMarginMs, lingerMs } =
    settings;
  for (const [what, ms] of Object.entries({ sessionTtlMs, heartbeatMs, lockDelayMs, maxClockSkewMs, deadlineMarginMs }))
    wholeNumber(what, ms, { min: 0 });
  if (sessionTtlMs < MIN_TTL_MS || sessionTtlMs > MAX_TTL_MS)
    throw new ConfigurationError(`sessionTtl = ${seconds(sessionTtlMs)}: must be ${seconds(MIN_TTL_MS)} to a day`);
  validateSessionTiming({ ttlMs: sessionTtlMs, heartbeatMs, lockDelayMs, maxClockSkewMs, holderMarginMs: 0 });
  if (!Number.isInteger(workerTimeoutMs / 1000))
    throw new ConfigurationError(`workerTimeout = ${seconds(workerTimeoutMs)}: Lambda takes whole seconds`);
  if (workerTimeoutMs > LAMBDA_MAX_TIMEOUT_MS)
    throw new ConfigurationError(`workerTimeout = ${seconds(workerTimeoutMs)}: Lambda allows 900 s at most`);
  if (workerTimeoutMs < deadlineMarginMs + MIN_WORKING_TIME_MS)
    throw new ConfigurationError(
      `workerTimeout = ${seconds(workerTimeoutMs)} leaves less than ${seconds(MIN_WORKING_TIME_MS)} for work before ` +
        `deadlineMargin = ${seconds(deadlineMarginMs)}: raise workerTimeout or lower deadlineMargin`,
    );
  wholeNumber('linger', lingerMs, { min: 0 });
  if (lingerMs > workerTimeoutMs - deadlineMarginMs)
    throw new ConfigurationError(
      `linger = ${seconds(lingerMs)} is longer than workerTimeout = ${seconds(workerTimeoutMs)} less ` +
        `deadlineMargin = ${seconds(deadlineMarginMs)}: no worker stays so long; lower linger`,
    );
  if (sessionTtlMs > workerTimeoutMs)
    throw new ConfigurationError(
      `sessionTtl = ${seconds(sessionTtlMs)} is longer than workerTimeout = ${seconds(workerTimeoutMs)}: ` +
        `tasks of a crashed worker would wait longer than any worker lives; lower sessionTtl`,
    );
  if (maxClockSkewMs > sessionTtlMs)
    throw new ConfigurationError(
      `maxClockSkew = ${seconds(maxClockSkewMs)} is longer than sessionTtl = ${seconds(sessionTtlMs)}: ` +
        `takeovers would wait mostly for clocks; correct the clocks or raise sessionTtl`,
    );
}

function validateSchedule(expression: string): void {
  const period = periodMs(expression);
  const isCron = /^cron\(\S+( \S+){5}\)$/.test(expression);
  if (!isCron && (period === undefined || period === 0))
    throw new ConfigurationError(
      `schedule = ${JSON.stringify(expression)} is unknown: must be a rate such as rate(1 minute), or a cron expression of six fields`,
    );
}

function validateSchedules({ schedules, queue }: WorkerSettings): void {
  for (const { name, options } of validSchedules('schedules', schedules)) {
    const { cron, zone = 'UTC' } = options;
    validCron(`schedule ${name}`, { cron, zone }, systemClock.now());
  }
  ensureOfQueue(schedules, queue);
  const characters = schedulesText(schedules).length;
  if (characters > SCHEDULES_LIMIT_CHARACTERS)
    throw new ConfigurationError(
      `schedules take ${characters} characters of the dispatcher's variables, and ${SCHEDULES_LIMIT_CHARACTERS} are free: ` +
        `define some with 'leasehold schedules define', or enqueue a reference in place of a large input`,
    );
}

/** @throws ConfigurationError if the value is not a web address, or already has a fragment */
export function validRunbooks(address: string | undefined): string {
  if (address === undefined) return 'docs/operating.md';
  if (/^https?:$/.test(URL.parse(address)?.protocol ?? '') && !address.includes('#')) return address;
  throw new ConfigurationError(
    `runbooks = ${JSON.stringify(address)}: pass the address of your copy of docs/operating.md, such as https://wiki.example/operating`,
  );
}

/** @throws ConfigurationError if a name is reserved for Leasehold; the construct library refuses Lambda's reserved names */
export function validateEnvironment(environment: Readonly<Record<string, string>>): void {
  const taken = Object.keys(environment).find((name) => name.startsWith('LEASEHOLD_'));
  if (taken !== undefined)
    throw new ConfigurationError(
      `environment sets ${taken}: names that begin with LEASEHOLD_ are set from the other properties`,
    );
}

function validateQueue(name: string): void {
  if (Token.isUnresolved(name))
    throw new ConfigurationError('queue is known only at deployment, and names what synthesis creates: give a text');
  if (QUEUE_NAME.test(name)) return;
  throw new ConfigurationError(
    `queue = ${JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)} has ${name.length} characters: ` +
      `must be 1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first`,
  );
}

/** @throws ConfigurationError */
export function validEntry(entry: unknown): string {
  if (typeof entry !== 'string')
    throw new ConfigurationError(
      'entry is missing: pass the path of the module that exports your tasks, or workerFunction, a function of your own',
    );
  if (statSync(entry, { throwIfNoEntry: false })?.isFile() !== true)
    throw new ConfigurationError(
      `entry = ${JSON.stringify(entry)} is not a file: pass the module that exports your tasks`,
    );
  return entry;
}

function wholeNumber(what: string, value: number, { min, max }: { readonly min: number; readonly max?: number }): void {
  if (Token.isUnresolved(value) || value < LEAST_NUMBER)
    throw new ConfigurationError(`${what} is known only at deployment, and is compared at synthesis: give a number`);
  if (Number.isInteger(value) && value >= min && (max === undefined || value <= max)) return;
  throw new ConfigurationError(
    `${what} = ${value}: must be a whole number ${max === undefined ? `of ${min} or more` : `from ${min} to ${max}`}`,
  );
}

/** The CDK encodes values that are known later in numbers far below; a product of one is no such number any more. */
const LEAST_NUMBER = -1e100;

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
