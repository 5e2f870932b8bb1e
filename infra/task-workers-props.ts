/** Props of `TaskWorkers`, and how they become settings with defaults. */
import type { RemovalPolicy, TimeZone } from 'aws-cdk-lib';
import { Duration } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { Function as LambdaFunction, Tracing } from 'aws-cdk-lib/aws-lambda';
import type { BundlingOptions } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { AttemptSpans } from '../functions/env.ts';
import {
  DEFAULT_ATTEMPT_SPANS,
  DEFAULT_CONCURRENCY,
  DEFAULT_DEADLINE_MARGIN_MS,
  DEFAULT_LINGER_MS,
  DEFAULT_MAX_WORKERS,
  DEFAULT_QUEUE,
  DEFAULT_SHARDS,
  DEFAULT_START_WITHIN_MS,
  DEFAULT_TIMED_NAMES,
  DEFAULT_WORKER_LOCK_DELAY_MS,
} from '../functions/env.ts';
import { ConfigurationError } from '../shared/core/errors.ts';
import type { TaskSchedule } from '../shared/tasks/schedule/declaration.ts';
import { DEFAULT_MAX_CLOCK_SKEW_MS, DEFAULT_TTL_MS } from '../shared/core/lease/timing.ts';
import type { AlarmThresholds } from './alarms.ts';
import { CoordinationTable } from './table.ts';
import type { WorkerSettings } from './validate.ts';
import { validEntry } from './validate.ts';
import type { WorkerProps } from './worker.ts';

/** A `Schedule` of aws-events, or a `ScheduleExpression` of aws-scheduler, which may have a time zone. */
export interface TickSchedule {
  readonly expressionString: string;
  readonly timeZone?: TimeZone | undefined;
}

export interface TaskWorkersProps {
  /** The module that exports your tasks; we bundle it with the handler that runs them. */
  readonly entry?: string;
  /**
   * Your own worker function, packaged any way you like, instead of `entry`. Its handler must be `createWorkHandler(tasks)` from `leasehold/middy`.
   * It gets the variables and rights of a worker; memory, time-out, network and bundling are its own. One function serves one queue.
   */
  readonly workerFunction?: LambdaFunction;
  /** Tasks that recur, made with `defineSchedule`: the dispatcher defines them with its first tick after a deployment. */
  readonly schedules?: readonly TaskSchedule[];
  /** Name of the queue. Default: `default`. One table holds many queues; two constructs on one table need two names. */
  readonly queue?: string;
  /** Default: a table of its own. */
  readonly table?: CoordinationTable;

  /** How often the dispatcher checks the backlog. Default: every minute. */
  readonly schedule?: TickSchedule;
  /** Let the scheduler spread ticks over this window. Default: ticks come at their time. */
  readonly flexibleWindow?: Duration;
  /** Default: true. A disabled schedule keeps everything else in place. */
  readonly scheduleEnabled?: boolean;

  /** Maximum number of concurrent workers (hard cap). Default: 10. */
  readonly maxWorkers?: number;
  /**
   * How soon the last waiting task should begin. Leasehold starts as many workers as that takes, by how long tasks took lately, and at
   * most `maxWorkers`. A shorter time means more workers with less to do each; `Duration.millis(0)` means a slot for every task.
   * At most 15 minutes. Default: 10 s.
   */
  readonly startWithin?: Duration;
  /** Tasks that one worker runs at once. Default: 10. */
  readonly concurrency?: number;
  /** Partitions of the ready index. Default: 8, enough for 8,000 tasks a second. */
  readonly shards?: number;

  /** How soon the tasks of a crashed worker are taken over. Default: 30 s. */
  readonly sessionTtl?: Duration;
  /** Default: a third of the session's TTL. */
  readonly heartbeatInterval?: Duration;
  /** Additional delay before a crashed worker's tasks and locks can be taken over, to let unfenced side effects finish. Default: 0 s. */
  readonly lockDelay?: Duration;
  /** Largest difference between any two clocks that takeovers allow for. Default: 1 s. */
  readonly maxClockSkew?: Duration;

  /** Longest life of one worker; no task can run for longer. Default: 15 minutes, because an idle worker ends by itself. */
  readonly workerTimeout?: Duration;
  /** Time before the worker's end in which running tasks are handed back. Default: 10 s. */
  readonly deadlineMargin?: Duration;
  /**
   * How long a worker with nothing to do stays, to begin the next task within 300 ms (p50) or so. Default: 0 s, because it is billed
   * meanwhile; `leasehold cost --linger-seconds` prices it.
   */
  readonly linger?: Duration;
  /**
   * Let a worker that nears its end with tasks left start its successor, in chains of at most thirteen workers; what is left then waits
   * for the next tick. Default: true, unless `scheduleEnabled` is false: without ticks, nothing takes up what a chain leaves.
   */
  readonly continuation?: boolean;
  /**
   * Start workers as soon as tasks are enqueued, by the table's stream; the schedule stays as the safety net. Default: true, unless
   * the table was there already (`CoordinationTable.fromTable`) and has no stream. With `false` there is neither stream nor
   * function, nor their price.
   */
  readonly wakeOnEnqueue?: boolean;
  /** Memory of the worker in MB; it is also its share of a processor. Default: 512. */
  readonly workerMemory?: number;
  /** Reserve this much of the account's concurrency for the worker. Default: none reserved. */
  readonly reservedConcurrency?: number;
  /** Variables for your tasks. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Bundling of the worker, on top of ours. */
  readonly bundling?: BundlingOptions;
  /**
   * Put the worker into this network, for tasks that reach what is in it. DynamoDB needs an endpoint or a way out
   * there, and Lambda with `continuation`. Default: none.
   */
  readonly vpc?: IVpc;
  /** Which of its subnets. Default: private ones. */
  readonly vpcSubnets?: SubnetSelection;
  /** Default: a new security group that allows all outbound traffic. */
  readonly securityGroups?: ISecurityGroup[];

  /** X-Ray's tracing of the functions. Default: active. Use `Tracing.DISABLED` to turn it off. */
  readonly tracing?: Tracing;
  /**
   * How the OpenTelemetry spans of attempts hang on the trace that their task was enqueued in. Default: `parent`, so that one trace
   * leads from the enqueueing to the last child. `link`: each attempt begins a trace, for tasks that wait for longer than your
   * collector keeps one open.
   */
  readonly attemptSpans?: AttemptSpans;
  /**
   * Task names that have metrics of their own for wait, run and end to end, in the order in which the module exports them; the rest
   * is `other`. Default: 10. Each costs three metrics.
   */
  readonly timedNames?: number;
  /** Default: a month. */
  readonly logRetention?: RetentionDays;
  /** Thresholds of the alarms, or `false` for none. Default: see `AlarmThresholds`. */
  readonly alarms?: AlarmThresholds | false;
  /** SNS topic for alarm notifications. Default: no one; alarms show their state on the dashboard. */
  readonly alarmTopic?: ITopic;
  /** The address of your copy of `docs/operating.md`, for links in the descriptions of alarms. Default: its place in the package. */
  readonly runbooks?: string;
  /** Default: true. */
  readonly dashboard?: boolean;
  /** Keep the table and the logs when the stack goes. Default: true. */
  readonly production?: boolean;
  /** Removal policy of a table that this construct creates. Default: retained in production, else destroyed. */
  readonly removalPolicy?: RemovalPolicy;
}

export const PROPS = {
  entry: true,
  workerFunction: true,
  schedules: true,
  queue: true,
  table: true,
  schedule: true,
  flexibleWindow: true,
  scheduleEnabled: true,
  maxWorkers: true,
  startWithin: true,
  concurrency: true,
  shards: true,
  sessionTtl: true,
  heartbeatInterval: true,
  lockDelay: true,
  maxClockSkew: true,
  workerTimeout: true,
  deadlineMargin: true,
  linger: true,
  continuation: true,
  wakeOnEnqueue: true,
  workerMemory: true,
  reservedConcurrency: true,
  environment: true,
  bundling: true,
  vpc: true,
  vpcSubnets: true,
  securityGroups: true,
  tracing: true,
  attemptSpans: true,
  timedNames: true,
  logRetention: true,
  alarms: true,
  alarmTopic: true,
  runbooks: true,
  dashboard: true,
  production: true,
  removalPolicy: true,
} as const satisfies Record<keyof TaskWorkersProps, true>;

/** Every minute: the longest that a task waits for its first worker, at 43,200 short invocations a month. */
export const DEFAULT_PERIOD = Duration.minutes(1);
const DEFAULT_WORKER_TIMEOUT = Duration.minutes(15);
/** A third of a processor: coordination needs little, and tasks that compute will want to set it anyway. */
const DEFAULT_WORKER_MEMORY_MB = 512;

/** @throws ConfigurationError for the setting that `startWithin` replaces */
export function ensureNotTasksPerWorker(props: object): void {
  if (!('tasksPerWorker' in props)) return;
  throw new ConfigurationError(
    'tasksPerWorker is not a setting any more: remove it, because the number of workers now follows from how long tasks take; ' +
      'startWithin says how soon the last waiting task should begin (default 10 s), and maxWorkers is the cap',
  );
}

/** @throws ConfigurationError for a plain CDK Table, which lacks these grant methods */
export function ensureTable(table: unknown): void {
  if (table === undefined || table instanceof CoordinationTable) return;
  throw new ConfigurationError(
    'table is not a CoordinationTable: wrap a table that is there already with CoordinationTable.fromTable(scope, id, table)',
  );
}

/** Settings of a function that we make. */
const OF_OUR_FUNCTION = [
  ...['bundling', 'environment', 'workerMemory', 'workerTimeout', 'reservedConcurrency'],
  ...['vpc', 'vpcSubnets', 'securityGroups'],
] as (keyof TaskWorkersProps)[];
/** Lambda's own, where a function says nothing. */
const LAMBDA_TIMEOUT = Duration.seconds(3);

/** @throws ConfigurationError for neither, both, and what a function of the user's own has already */
export function sourceOf({ entry, workerFunction: own, ...props }: TaskWorkersProps): WorkerProps['source'] {
  if (own === undefined) return { entry: validEntry(entry) };
  if (entry !== undefined)
    throw new ConfigurationError('entry and workerFunction are both given: the tasks are in the one or in the other');
  const taken = OF_OUR_FUNCTION.find((name) => props[name as keyof typeof props] !== undefined);
  if (taken !== undefined)
    throw new ConfigurationError(`${taken} is of the function that we make of entry: set it on workerFunction itself`);
  return { own };
}

/** What is not given becomes its default here, and nowhere else. */
export function settingsOf(props: TaskWorkersProps, expression: string): WorkerSettings {
  const ms = (given: Duration | undefined, byDefault: number): number => given?.toMilliseconds() ?? byDefault;
  const { workerFunction: own } = props;
  const workerTimeout = own === undefined ? props.workerTimeout : (own.timeout ?? LAMBDA_TIMEOUT);
  const queue = props.queue ?? DEFAULT_QUEUE;
  const sessionTtlMs = ms(props.sessionTtl, DEFAULT_TTL_MS);
  return {
    entry: props.entry,
    queue,
    schedule: { expression, flexibleWindowMs: props.flexibleWindow?.toMilliseconds() },
    maxWorkers: props.maxWorkers ?? DEFAULT_MAX_WORKERS,
    startWithinMs: ms(props.startWithin, DEFAULT_START_WITHIN_MS),
    concurrency: props.concurrency ?? DEFAULT_CONCURRENCY,
    shards: props.shards ?? DEFAULT_SHARDS,
    sessionTtlMs,
    heartbeatMs: ms(props.heartbeatInterval, Math.floor(sessionTtlMs / 3)),
    lockDelayMs: ms(props.lockDelay, DEFAULT_WORKER_LOCK_DELAY_MS),
    maxClockSkewMs: ms(props.maxClockSkew, DEFAULT_MAX_CLOCK_SKEW_MS),
    workerTimeoutMs: ms(workerTimeout, DEFAULT_WORKER_TIMEOUT.toMilliseconds()),
    deadlineMarginMs: ms(props.deadlineMargin, DEFAULT_DEADLINE_MARGIN_MS),
    lingerMs: ms(props.linger, DEFAULT_LINGER_MS),
    workerMemoryMb: props.workerMemory ?? DEFAULT_WORKER_MEMORY_MB,
    reservedConcurrency: props.reservedConcurrency,
    continuation: props.continuation ?? props.scheduleEnabled ?? true,
    attemptSpans: props.attemptSpans ?? DEFAULT_ATTEMPT_SPANS,
    timedNames: props.timedNames ?? DEFAULT_TIMED_NAMES,
    tracing: props.tracing,
    environment: props.environment ?? {},
    schedules: props.schedules ?? [],
  };
}
