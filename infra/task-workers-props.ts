/** Props of `TaskWorkers`, and how they become settings with defaults. */
import type { TimeZone } from 'aws-cdk-lib';
import { Duration } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { Function as LambdaFunction, Tracing } from 'aws-cdk-lib/aws-lambda';
import type { BundlingOptions } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { AttemptSpans } from '../functions/env.ts';
import { DEFAULT_ATTEMPT_SPANS, DEFAULT_QUEUE, DEFAULT_WORKER_LOCK_DELAY_MS, NUMBERS } from '../functions/env.ts';
import { ConfigurationError } from '../shared/core/errors.ts';
import type { TaskSchedule } from '../shared/tasks/schedule/declaration.ts';
import { DEFAULT_TTL_MS } from '../shared/core/lease/timing.ts';
import { givenName } from '../shared/core/validate/options.ts';
import type { AlarmThresholds } from './alarms.ts';
import { CoordinationTable } from './table.ts';
import type { WorkerSettings } from './validate.ts';
import { validEntry } from './validate.ts';
import type { WorkerProps } from './worker.ts';

/** A `Schedule` from aws-events, or a `ScheduleExpression` from aws-scheduler, which can have a time zone. */
export interface TickSchedule {
  readonly expressionString: string;
  readonly timeZone?: TimeZone | undefined;
}

/** For packages that Lambda or a layer brings, native packages, for example sharp, other files than code, and constants. */
export type WorkerBundling = Pick<
  BundlingOptions,
  'externalModules' | 'nodeModules' | 'loader' | 'define' | 'commandHooks'
>;

export const BUNDLING = ['externalModules', 'nodeModules', 'loader', 'define', 'commandHooks'] as const;

export interface TaskWorkersProps {
  /** Path of the module that exports your tasks. We bundle it with the handler that runs them. */
  readonly entry?: string;
  /**
   * Your own worker function, packaged any way you like, instead of `entry`. Its handler must be
   * `createWorkHandler(tasks)` from `leasehold/middy`. We add a worker's environment variables and permissions; you set
   * memory, timeout, network and bundling on the function. One function serves one queue.
   */
  readonly workerFunction?: LambdaFunction;
  /** Recurring tasks, made with `defineSchedule`. The dispatcher creates them on its first tick after a deployment. */
  readonly schedules?: readonly TaskSchedule[];
  /** Queue name. A table can hold many queues; constructs that share one need different names. Default: `default`. */
  readonly queue?: string;
  /** Table that holds the queue. Default: a new table. */
  readonly table?: CoordinationTable;

  /** How often the dispatcher checks the backlog. Default: every minute. */
  readonly schedule?: TickSchedule;
  /** Whether the schedule sends ticks. Disabling it leaves everything else in place. Default: true. */
  readonly scheduleEnabled?: boolean;

  /** Maximum number of concurrent workers (hard cap). Default: 10. */
  readonly maxWorkers?: number;
  /**
   * How soon the last waiting task should begin. Leasehold starts as many workers as that takes, judged by how long tasks took lately, at
   * most `maxWorkers`. A shorter time means more workers with less to do each; `Duration.millis(0)` means a slot for every task.
   * At most 15 minutes. Default: 10 s.
   */
  readonly startWithin?: Duration;
  /** Number of tasks that one worker runs at once. Default: 10. */
  readonly concurrency?: number;
  /** Number of partitions of the ready index. Default: 8, enough for 4,000 tasks per second. */
  readonly shards?: number;

  /** Session TTL: how long a crashed worker keeps its tasks before others can take over. Default: 30 s. */
  readonly sessionTtl?: Duration;
  /** Extra time until its tasks and locks can be taken over, for effects that no store can refuse. Default: 0 s. */
  readonly lockDelay?: Duration;
  /** Clock bound: largest difference between two clocks that takeovers allow for. Default: 1 s. */
  readonly maxClockSkew?: Duration;

  /** Maximum lifetime of a worker and of every attempt. Default: 15 minutes, because an idle worker exits by itself. */
  readonly workerTimeout?: Duration;
  /** Time before `workerTimeout` at which a worker starts to hand back its running tasks. Default: 10 s. */
  readonly deadlineMargin?: Duration;
  /**
   * How long an idle worker stays, so that the next task starts within a modelled 300 ms (p50). Default: 0 s, because idle
   * time is billed; `leasehold cost --linger-seconds` estimates the price.
   */
  readonly linger?: Duration;
  /**
   * Whether a worker near its end starts a successor for the remaining tasks, in chains of at most thirteen workers. Otherwise a tick does.
   * Default: true, unless `scheduleEnabled` is false, because without ticks nothing continues after the end of a chain.
   */
  readonly continuation?: boolean;
  /**
   * Whether the table's stream starts workers as soon as tasks are enqueued. The schedule remains as a safety net.
   * Default: true, except for an existing table (`CoordinationTable.fromTable`) without a stream. With `false`, you
   * neither deploy nor pay for the stream and its function.
   */
  readonly wakeOnEnqueue?: boolean;
  /** Memory of the worker in MB, which also sets its share of CPU. Default: 512. */
  readonly workerMemory?: number;
  /** Environment variables for your tasks. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Bundling options of the worker, in addition to ours. */
  readonly bundling?: WorkerBundling;
  /**
   * VPC of the worker, for tasks that call services in it. The VPC needs an endpoint or a route to DynamoDB, and with
   * `continuation` also to Lambda. Default: no VPC.
   */
  readonly vpc?: IVpc;
  /** Subnets of `vpc` for the worker. Default: private subnets. */
  readonly vpcSubnets?: SubnetSelection;
  /** Default: a new security group that allows all outbound traffic. */
  readonly securityGroups?: ISecurityGroup[];

  /** X-Ray tracing of the functions. Default: disabled, because X-Ray bills each trace of a busy waker. */
  readonly tracing?: Tracing;
  /**
   * Relation of an attempt's OpenTelemetry span to the trace that enqueued the task. `parent`: one trace, from the
   * enqueue to the last child. `link`: a new trace per attempt, for tasks that wait longer than your collector keeps a
   * trace open. Default: `parent`.
   */
  readonly attemptSpans?: AttemptSpans;
  /** Whether the workers log a line for each attempt that ends. Default: false, only for failures and takeovers. */
  readonly logEnds?: boolean;
  /** Version of the task code, such as a commit: `leasehold tasks show` names it with each attempt. Default: none. */
  readonly codeVersion?: string;
  /**
   * Lists finished tasks, for `leasehold tasks list --state done`, the console's page of finished tasks, and numbers by name. Each task then
   * costs one write unit more: 6 in place of 5. `false` switches off what was switched on. Default: as it was; off in a new queue.
   */
  readonly listFinished?: boolean;
  /** Task names with their own metrics for wait, run and end to end. Each costs three metrics. Default: none. */
  readonly timedNames?: readonly string[];
  /** Alarm thresholds, or `false` for no alarms. Default: see `AlarmThresholds`. */
  readonly alarms?: AlarmThresholds | false;
  /** SNS topic for alarm notifications. Default: none; the dashboard shows the alarm states. */
  readonly alarmTopic?: ITopic;
  /** URL of your copy of `docs/operating.md`, for links in alarm descriptions. Default: its path in the package. */
  readonly runbooks?: string;
  /** Whether the queue is on the dashboard of its table. Default: true. */
  readonly dashboard?: boolean;
  /** Whether to keep the table and the logs when the stack is deleted. Default: true. */
  readonly production?: boolean;
}

export const PROPS = [
  'entry',
  'workerFunction',
  'schedules',
  'queue',
  'table',
  'schedule',
  'scheduleEnabled',
  'maxWorkers',
  'startWithin',
  'concurrency',
  'shards',
  'sessionTtl',
  'lockDelay',
  'maxClockSkew',
  'workerTimeout',
  'deadlineMargin',
  'linger',
  'continuation',
  'wakeOnEnqueue',
  'workerMemory',
  'environment',
  'bundling',
  'vpc',
  'vpcSubnets',
  'securityGroups',
  'tracing',
  'attemptSpans',
  'logEnds',
  'codeVersion',
  'listFinished',
  'timedNames',
  'alarms',
  'alarmTopic',
  'runbooks',
  'dashboard',
  'production',
] as const;

/** Every minute, so a task waits at most that long for its first worker, at 43,200 short invocations a month. */
export const DEFAULT_PERIOD = Duration.minutes(1);
const DEFAULT_WORKER_TIMEOUT = Duration.minutes(15);
/** A third of a CPU: coordination needs little, and users with compute-bound tasks will set it anyway. */
const DEFAULT_WORKER_MEMORY_MB = 512;

/** @throws ConfigurationError for the setting that `startWithin` replaces */
export function ensureNotTasksPerWorker(props: object): void {
  if (!('tasksPerWorker' in props)) return;
  throw new ConfigurationError(
    'tasksPerWorker is not a setting: remove it, because the number of workers follows from how long tasks take; ' +
      'startWithin says how soon the last waiting task should begin (default 10 s), and maxWorkers is the cap',
  );
}

/** @throws ConfigurationError for a plain CDK table, which lacks our grant methods */
export function ensureTable(table: unknown): void {
  if (table === undefined || table instanceof CoordinationTable) return;
  throw new ConfigurationError(
    'table is not a CoordinationTable: wrap an existing table with CoordinationTable.fromTable(scope, id, table)',
  );
}

/** @throws ConfigurationError if no alarm is there for what is given */
export function ensureAlarms({ alarms, alarmTopic, runbooks }: TaskWorkersProps): void {
  const given = Object.entries({ alarmTopic, runbooks }).find(([, value]) => value !== undefined);
  if (alarms === false && given !== undefined)
    throw new ConfigurationError(
      `alarms = false and ${given[0]} are both given: no alarm uses it; leave one of them out`,
    );
}

/** Props that apply only to a function that we create. */
const OF_OUR_FUNCTION = [
  ...['bundling', 'environment', 'workerMemory', 'workerTimeout'],
  ...['vpc', 'vpcSubnets', 'securityGroups'],
] as (keyof TaskWorkersProps)[];
/** Lambda's default for a function without a timeout. */
const LAMBDA_TIMEOUT = Duration.seconds(3);

/** @throws ConfigurationError if neither or both are given, or with a prop that must be set on `workerFunction` */
export function sourceOf({ entry, workerFunction: own, ...props }: TaskWorkersProps): WorkerProps['source'] {
  if (own === undefined) return { entry: validEntry(entry) };
  if (entry !== undefined) throw new ConfigurationError('entry and workerFunction are mutually exclusive');
  const taken = OF_OUR_FUNCTION.find((name) => props[name as keyof typeof props] !== undefined);
  if (taken !== undefined)
    throw new ConfigurationError(`${taken} is of the function that we make of entry: set it on workerFunction itself`);
  return { own };
}

/** Applies all defaults. They are set here and nowhere else. */
export function settingsOf(props: TaskWorkersProps, expression: string): WorkerSettings {
  const ms = (given: Duration | undefined, byDefault: number): number => given?.toMilliseconds() ?? byDefault;
  const { workerFunction: own } = props;
  const workerTimeout = own === undefined ? props.workerTimeout : (own.timeout ?? LAMBDA_TIMEOUT);
  const queue = props.queue ?? DEFAULT_QUEUE;
  const sessionTtlMs = ms(props.sessionTtl, DEFAULT_TTL_MS);
  return {
    entry: props.entry,
    queue,
    schedule: expression,
    maxWorkers: props.maxWorkers ?? NUMBERS.maxWorkers.default,
    startWithinMs: ms(props.startWithin, NUMBERS.startWithinMs.default),
    concurrency: props.concurrency ?? NUMBERS.concurrency.default,
    shards: props.shards ?? NUMBERS.shards.default,
    sessionTtlMs,
    heartbeatMs: Math.floor(sessionTtlMs / 3),
    lockDelayMs: ms(props.lockDelay, DEFAULT_WORKER_LOCK_DELAY_MS),
    maxClockSkewMs: ms(props.maxClockSkew, NUMBERS.maxClockSkewMs.default),
    workerTimeoutMs: ms(workerTimeout, DEFAULT_WORKER_TIMEOUT.toMilliseconds()),
    deadlineMarginMs: ms(props.deadlineMargin, NUMBERS.deadlineMarginMs.default),
    lingerMs: ms(props.linger, NUMBERS.lingerMs.default),
    workerMemoryMb: props.workerMemory ?? DEFAULT_WORKER_MEMORY_MB,
    continuation: props.continuation ?? props.scheduleEnabled ?? true,
    attemptSpans: props.attemptSpans ?? DEFAULT_ATTEMPT_SPANS,
    logEnds: props.logEnds ?? false,
    codeVersion: givenName('codeVersion', props.codeVersion),
    listFinished: props.listFinished,
    timedNames: props.timedNames ?? [],
    tracing: props.tracing,
    environment: props.environment ?? {},
    schedules: props.schedules ?? [],
  };
}
