/**
 * A queue and the workers that run its tasks: everything that one `new` deploys.
 *
 *     new TaskWorkers(this, 'Media', { entry: 'src/tasks.ts', schedule: Schedule.rate(Duration.minutes(1)), maxWorkers: 50 });
 *
 * The module `entry` exports tasks made with `defineTask`; its other exports are ignored.
 * Every setting is checked here, alone and against the others, so that a deployment that could not work does not happen.
 */
import type { RemovalPolicy, TimeZone } from 'aws-cdk-lib';
import { Duration } from 'aws-cdk-lib';
import type { Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { Grant, IGrantable, IPrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction, Tracing } from 'aws-cdk-lib/aws-lambda';
import type { BundlingOptions } from 'aws-cdk-lib/aws-lambda-nodejs';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { AttemptSpans } from '../functions/env.ts';
import {
  DEFAULT_ATTEMPT_SPANS,
  DEFAULT_CONCURRENCY,
  DEFAULT_DEADLINE_MARGIN_MS,
  DEFAULT_MAX_WORKERS,
  DEFAULT_QUEUE,
  DEFAULT_SHARDS,
  DEFAULT_TASKS_PER_WORKER,
  DEFAULT_TIMED_NAMES,
  DEFAULT_WORKER_LOCK_DELAY_MS,
} from '../functions/env.ts';
import type { MetricName, QueueAddress } from '../functions/metric-names.ts';
import { METRIC } from '../functions/metric-names.ts';
import { ConfigurationError } from '../shared/errors.ts';
import { DEFAULT_MAX_CLOCK_SKEW_MS, DEFAULT_TTL_MS } from '../shared/lease/timing.ts';
import { validOptions } from '../shared/validate/options.ts';
import { enqueueAccess, observeAccess, operateAccess, replaceAccess, scheduleAccess } from './access.ts';
import type { AlarmThresholds } from './alarms.ts';
import { Alarms } from './alarms.ts';
import { QueueDashboard } from './dashboard.ts';
import { Dispatcher } from './dispatcher.ts';
import { networkOf } from './handler-function.ts';
import type { TaskTimeName } from './metrics.ts';
import { queueMetric, taskMetric } from './metrics.ts';
import { claimVariables, setVariables } from './producer.ts';
import { CoordinationTable } from './table.ts';
import type { WorkerSettings } from './validate.ts';
import { validRunbooks, validateEnvironment, validateWorkers } from './validate.ts';
import { Waker } from './waker.ts';
import { Worker } from './worker.ts';

/** A `Schedule` of aws-events, or a `ScheduleExpression` of aws-scheduler, which may have a time zone. */
export interface TickSchedule {
  readonly expressionString: string;
  readonly timeZone?: TimeZone | undefined;
}

export interface TaskWorkersProps {
  /** The module that exports your tasks. */
  readonly entry: string;
  /** Name of the queue. Default: `default`. One table holds many queues; two constructs on one table need two names. */
  readonly queue?: string;
  /** Default: a table of its own. */
  readonly table?: CoordinationTable;

  /** When the backlog is looked at. Default: every minute. */
  readonly schedule?: TickSchedule;
  /** Let the scheduler spread ticks over this window. Default: ticks come at their time. */
  readonly flexibleWindow?: Duration;
  /** Default: true. A disabled schedule keeps everything else in place. */
  readonly scheduleEnabled?: boolean;

  /** Most workers at one time, a hard cap. Default: 10. */
  readonly maxWorkers?: number;
  /** Backlog for which one worker is started. Default: 100. */
  readonly tasksPerWorker?: number;
  /** Tasks that one worker runs at once. Default: 10. */
  readonly concurrency?: number;
  /** Partitions of the ready index. Default: 8, enough for 8,000 tasks a second. */
  readonly shards?: number;

  /** How soon the tasks of a crashed worker are taken over. Default: 30 s. */
  readonly sessionTtl?: Duration;
  /** Default: a third of the session's TTL. */
  readonly heartbeatInterval?: Duration;
  /** How long the tasks and locks of a crashed worker stay closed beyond that: for effects that no store can refuse. Default: 0 s. */
  readonly lockDelay?: Duration;
  /** Largest difference between any two clocks that takeovers allow for. Default: 1 s. */
  readonly maxClockSkew?: Duration;

  /** Longest life of one worker; no task can run for longer. Default: 15 minutes, because an idle worker ends by itself. */
  readonly workerTimeout?: Duration;
  /** Time before the worker's end in which running tasks are handed back. Default: 10 s. */
  readonly deadlineMargin?: Duration;
  /** Let a worker that nears its end with tasks left start its successor. Default: true; otherwise they wait for the next tick. */
  readonly continuation?: boolean;
  /**
   * Start workers as soon as tasks are enqueued, by the table's stream; the schedule stays as the safety net. Default: true, unless the table
   * was there already (`CoordinationTable.fromTable`) and has no stream. With `false` there is neither stream nor function, nor their price.
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
  /** Put the worker into this network, for tasks that reach what is in it. DynamoDB needs an endpoint or a way out there, and Lambda with `continuation`. Default: none. */
  readonly vpc?: IVpc;
  /** Which of its subnets. Default: private ones. */
  readonly vpcSubnets?: SubnetSelection;
  /** Default: a group of its own that lets everything out. */
  readonly securityGroups?: ISecurityGroup[];

  /** X-Ray's tracing of the functions. Default: active; `Tracing.DISABLED` for those who trace otherwise, or not at all. */
  readonly tracing?: Tracing;
  /**
   * How the OpenTelemetry spans of attempts hang on the trace that their task was enqueued in. Default: `parent`, so that one trace leads from
   * the enqueueing to the last child. `link`: each attempt begins a trace, for tasks that wait for longer than your collector keeps one open.
   */
  readonly attemptSpans?: AttemptSpans;
  /**
   * Task names that have metrics of their own for wait, run and end to end, in the order in which the module exports them; the rest is `other`.
   * Default: 10. Each costs three metrics.
   */
  readonly timedNames?: number;
  /** Default: a month. */
  readonly logRetention?: RetentionDays;
  /** Thresholds of the alarms, or `false` for none. Default: see `AlarmThresholds`. */
  readonly alarms?: AlarmThresholds | false;
  /** Who is told. Default: no one; alarms show their state on the dashboard. */
  readonly alarmTopic?: ITopic;
  /** The address of your copy of `docs/operating.md`, for links in the descriptions of alarms. Default: its place in the package. */
  readonly runbooks?: string;
  /** Default: true. */
  readonly dashboard?: boolean;
  /** Keep the table and the logs when the stack goes. Default: true. */
  readonly production?: boolean;
  /** What becomes of a table of its own when it leaves the stack. Default: retained in production, else destroyed. */
  readonly removalPolicy?: RemovalPolicy;
}

const PROPS = {
  entry: true,
  queue: true,
  table: true,
  schedule: true,
  flexibleWindow: true,
  scheduleEnabled: true,
  maxWorkers: true,
  tasksPerWorker: true,
  concurrency: true,
  shards: true,
  sessionTtl: true,
  heartbeatInterval: true,
  lockDelay: true,
  maxClockSkew: true,
  workerTimeout: true,
  deadlineMargin: true,
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
const DEFAULT_PERIOD = Duration.minutes(1);
const DEFAULT_WORKER_TIMEOUT = Duration.minutes(15);
/** A third of a processor: coordination needs little, and tasks that compute will want to set it anyway. */
const DEFAULT_WORKER_MEMORY_MB = 512;

/** A queue, its dispatcher, its workers, alarms and dashboard. */
export class TaskWorkers extends Construct implements IGrantable {
  readonly queue: string;
  readonly table: CoordinationTable;
  readonly worker: Worker;
  readonly dispatcher: Dispatcher;
  /** The waker of its table, which the queues of one stack share. */
  readonly waker: Waker | undefined;
  readonly alarms: Alarms | undefined;
  readonly dashboard: QueueDashboard | undefined;
  readonly #settings: WorkerSettings;

  constructor(scope: Construct, id: string, props: TaskWorkersProps) {
    super(scope, id);
    validOptions('the props of TaskWorkers', props, PROPS);
    ensureTable(props.table);
    const { timeZone, expressionString } = props.schedule ?? ScheduleExpression.rate(DEFAULT_PERIOD);
    const settings = settingsOf(props, expressionString);
    validateWorkers(settings);
    this.#settings = settings;

    const production = props.production ?? true;
    const logRetention = props.logRetention ?? RetentionDays.ONE_MONTH;
    const scheduleEnabled = props.scheduleEnabled ?? true;
    this.queue = settings.queue;
    this.table =
      props.table ??
      new CoordinationTable(this, 'Table', {
        production,
        ...(props.removalPolicy === undefined ? {} : { removalPolicy: props.removalPolicy }),
      });
    this.table.claimQueue(this.queue);
    this.worker = new Worker(this, 'Worker', {
      ...{ settings, logRetention, production },
      table: this.table,
      bundling: props.bundling,
      network: networkOf(props),
    });
    claimVariables(this.worker.function, this);
    this.dispatcher = new Dispatcher(this, 'Dispatcher', {
      ...{ settings, logRetention, production, scheduleEnabled },
      expression: ScheduleExpression.expression(expressionString, timeZone),
      table: this.table,
      worker: this.worker.function,
    });
    this.waker =
      props.wakeOnEnqueue === false
        ? undefined
        : Waker.ofTable(this, this.table, {
            ...{ logRetention, production, tracing: settings.tracing },
            isAskedFor: props.wakeOnEnqueue === true,
          });
    this.waker?.serve(settings, this.worker.function);
    this.alarms =
      props.alarms === false
        ? undefined
        : new Alarms(this, 'Alarms', {
            address: this.address,
            scheduleExpression: expressionString,
            scheduleEnabled,
            schedule: this.dispatcher.schedule,
            dispatcher: this.dispatcher.function,
            worker: this.worker.function,
            workerTimeout: Duration.millis(settings.workerTimeoutMs),
            deadLetters: this.dispatcher.deadLetters,
            thresholds: props.alarms ?? {},
            runbooks: validRunbooks(props.runbooks),
            topic: props.alarmTopic,
          });
    this.dashboard =
      props.dashboard === false
        ? undefined
        : new QueueDashboard(this, 'Dashboard', {
            queue: this.queue,
            table: this.table.table,
            dispatcher: this.dispatcher.function,
            worker: this.worker.function,
            alarms: this.alarms,
          });
  }

  private get address(): QueueAddress {
    return { table: this.table.tableName, queue: this.queue };
  }

  /** Your tasks' own rights: `bucket.grantRead(workers)`. */
  get grantPrincipal(): IPrincipal {
    return this.worker.function.grantPrincipal;
  }

  /** One more variable for your tasks. @throws ConfigurationError for a name that is ours */
  addEnvironment(name: string, value: string): this {
    validateEnvironment({ [name]: value });
    this.worker.function.addEnvironment(name, value);
    return this;
  }

  /** Put tasks into this queue and look at them; with `onDuplicate: 'replace'` or `'debounce'`, see `grantReplace`. */
  grantEnqueue(grantee: IGrantable): Grant {
    return this.table.grant(grantee, enqueueAccess(this.queue));
  }

  /** `grantEnqueue`, and give other work to tasks that are there: `onDuplicate: 'replace'` and `'debounce'`. */
  grantReplace(grantee: IGrantable): Grant {
    return this.table.grant(grantee, replaceAccess(this.queue));
  }

  /**
   * Lets a function put tasks into this queue: `grantEnqueue`, and the variables from which `createLeasehold()` in its code takes
   * table, queue, shards and clock bound.
   * @throws ConfigurationError when its variables name another queue already: those of the last one would win, without a word
   */
  connect(producer: LambdaFunction): Grant {
    claimVariables(producer, this);
    setVariables(producer, { ...this.#settings, tableName: this.table.tableName });
    return this.grantEnqueue(producer);
  }

  /** Sessions, locks, elections, semaphores and wait groups of the table; no tasks. */
  grantCoordinate(grantee: IGrantable): Grant {
    return this.table.grantCoordinate(grantee);
  }

  /** Define, list and remove the schedules of this queue: a task that recurs is enqueued by the dispatcher, so that is a right to enqueue. */
  grantSchedule(grantee: IGrantable): Grant {
    return this.table.grant(grantee, scheduleAccess(this.queue));
  }

  /** See the queue, payloads included, and all coordination rows; change nothing. */
  grantObserve(grantee: IGrantable): Grant {
    return this.table.grant(grantee, observeAccess(this.queue));
  }

  /** Observe, and act for people: retry, cancel, pause, force-release, destroy a session. */
  grantOperate(grantee: IGrantable): Grant {
    return this.table.grant(grantee, operateAccess(this.queue));
  }

  /** Any metric that the handlers report; sums over five minutes, or the maximum of a gauge. */
  metric(name: MetricName, options?: MetricOptions): Metric {
    return queueMetric(this.address, name, options);
  }

  /** How long tasks of one name waited, ran, or took from end to end; the 99th percentile, unless another statistic is asked for. */
  metricOfTask(name: TaskTimeName, task: string, options?: MetricOptions): Metric {
    return taskMetric(this.address, name, { task, ...options });
  }

  /** How long the oldest due task has been waiting, in milliseconds. */
  metricOldestReadyTaskAge(options?: MetricOptions): Metric {
    return this.metric(METRIC.oldestReadyTaskAgeMs, options);
  }

  metricBacklogSize(options?: MetricOptions): Metric {
    return this.metric(METRIC.backlogSize, options);
  }

  metricTasksCompleted(options?: MetricOptions): Metric {
    return this.metric(METRIC.tasksCompleted, options);
  }

  metricTasksDead(options?: MetricOptions): Metric {
    return this.metric(METRIC.tasksDead, options);
  }

  metricLeasesLost(options?: MetricOptions): Metric {
    return this.metric(METRIC.leasesLost, options);
  }

  metricWorkersLive(options?: MetricOptions): Metric {
    return this.metric(METRIC.workersLive, options);
  }
}

/** @throws ConfigurationError for a table of the CDK's own, which has not our grants */
function ensureTable(table: unknown): void {
  if (table === undefined || table instanceof CoordinationTable) return;
  throw new ConfigurationError(
    'table is not a CoordinationTable: wrap a table that is there already with CoordinationTable.fromTable(scope, id, table)',
  );
}

/** What is not given becomes its default here, and nowhere else. */
function settingsOf(props: TaskWorkersProps, expression: string): WorkerSettings {
  const ms = (given: Duration | undefined, byDefault: number): number => given?.toMilliseconds() ?? byDefault;
  const queue = props.queue ?? DEFAULT_QUEUE;
  const sessionTtlMs = ms(props.sessionTtl, DEFAULT_TTL_MS);
  return {
    entry: props.entry,
    queue,
    schedule: { expression, flexibleWindowMs: props.flexibleWindow?.toMilliseconds() },
    maxWorkers: props.maxWorkers ?? DEFAULT_MAX_WORKERS,
    tasksPerWorker: props.tasksPerWorker ?? DEFAULT_TASKS_PER_WORKER,
    concurrency: props.concurrency ?? DEFAULT_CONCURRENCY,
    shards: props.shards ?? DEFAULT_SHARDS,
    sessionTtlMs,
    heartbeatMs: ms(props.heartbeatInterval, Math.floor(sessionTtlMs / 3)),
    lockDelayMs: ms(props.lockDelay, DEFAULT_WORKER_LOCK_DELAY_MS),
    maxClockSkewMs: ms(props.maxClockSkew, DEFAULT_MAX_CLOCK_SKEW_MS),
    workerTimeoutMs: ms(props.workerTimeout, DEFAULT_WORKER_TIMEOUT.toMilliseconds()),
    deadlineMarginMs: ms(props.deadlineMargin, DEFAULT_DEADLINE_MARGIN_MS),
    workerMemoryMb: props.workerMemory ?? DEFAULT_WORKER_MEMORY_MB,
    reservedConcurrency: props.reservedConcurrency,
    continuation: props.continuation ?? true,
    attemptSpans: props.attemptSpans ?? DEFAULT_ATTEMPT_SPANS,
    timedNames: props.timedNames ?? DEFAULT_TIMED_NAMES,
    tracing: props.tracing,
    environment: props.environment ?? {},
  };
}
