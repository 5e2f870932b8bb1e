/**
 * A queue and the workers that run its tasks: everything that one `new` deploys.
 *
 *     new TaskWorkers(this, 'Media', { entry: 'src/tasks.ts', schedule: ScheduleExpression.rate(Duration.minutes(1)), maxWorkers: 50 });
 *
 * The module `entry` exports tasks made with `defineTask`; its other exports are ignored.
 * Every setting is checked here, alone and against the others, so that a deployment that could not work is refused.
 */
import { readFileSync } from 'node:fs';
import { Annotations, Duration } from 'aws-cdk-lib';
import type { Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import type { Grant, IGrantable, IPrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import type { MetricName, QueueAddress } from '../functions/metric-names.ts';
import { ConfigurationError, shown } from '../shared/core/errors.ts';
import { validOptions } from '../shared/core/validate/options.ts';
import {
  callbackAccess,
  containerAccess,
  enqueueAccess,
  observeAccess,
  operateAccess,
  replaceAccess,
  scheduleAccess,
} from './access.ts';
import { Alarms } from './alarms.ts';
import { TableDashboard } from './dashboard.ts';
import { Dispatcher } from './dispatcher.ts';
import { networkOf } from './handler-function.ts';
import type { TaskTimeName } from './metrics.ts';
import { queueMetric, taskMetric } from './metrics.ts';
import { claimVariables, setVariables } from './producer.ts';
import { CoordinationTable } from './table.ts';
import type { WorkerSettings } from './validate.ts';
import { validRunbooks, validateEnvironment, validateWorkers } from './validate.ts';
import { Waker } from './waker.ts';
import type { TaskWorkersProps } from './task-workers-props.ts';
import {
  BUNDLING,
  DEFAULT_PERIOD,
  PROPS,
  ensureNotTasksPerWorker,
  ensureAlarms,
  ensureTable,
  settingsOf,
  sourceOf,
} from './task-workers-props.ts';
import { WorkerFunction } from './worker.ts';

/** A queue, its dispatcher, its workers, alarms and dashboard. */
export class TaskWorkers extends Construct implements IGrantable {
  readonly queue: string;
  readonly table: CoordinationTable;
  readonly worker: WorkerFunction;
  readonly dispatcher: Dispatcher;
  /** The waker of its table, which the queues of one stack share. */
  readonly waker: Waker | undefined;
  readonly alarms: Alarms | undefined;
  /** The dashboard of its table, which the queues of one stack share. */
  readonly dashboard: TableDashboard | undefined;
  readonly #settings: WorkerSettings;

  constructor(scope: Construct, id: string, props: TaskWorkersProps) {
    super(scope, id);
    ensureNotTasksPerWorker(props);
    validOptions('the props of TaskWorkers', props, PROPS);
    validOptions('the prop bundling', props.bundling ?? {}, BUNDLING);
    ensureTable(props.table);
    ensureAlarms(props);
    const source = sourceOf(props);
    const { timeZone, expressionString } = props.schedule ?? ScheduleExpression.rate(DEFAULT_PERIOD);
    if (typeof expressionString !== 'string')
      throw new ConfigurationError(
        `schedule = ${shown(props.schedule)}: must be an expression of aws-cdk-lib/aws-scheduler, ` +
          'such as ScheduleExpression.rate(Duration.minutes(1))',
      );
    const settings = settingsOf(props, expressionString);
    validateWorkers(settings);
    this.#settings = settings;
    this.warnOfSchedules(settings);
    this.sayHowMany(settings);

    const production = props.production ?? true;
    const scheduleEnabled = props.scheduleEnabled ?? true;
    this.queue = settings.queue;
    this.table = props.table ?? new CoordinationTable(this, 'Table', { production });
    this.table.claimQueue(this.queue);
    this.worker = new WorkerFunction(this, 'Worker', {
      source,
      settings,
      production,
      table: this.table,
      bundling: props.bundling,
      network: networkOf(props),
    });
    claimVariables(this.worker.function, this);
    this.dispatcher = new Dispatcher(this, 'Dispatcher', {
      settings,
      production,
      scheduleEnabled,
      expression: ScheduleExpression.expression(expressionString, timeZone),
      table: this.table,
      worker: this.worker.function,
    });
    this.waker =
      props.wakeOnEnqueue === false
        ? undefined
        : Waker.ofTable(this, this.table, {
            production,
            tracing: settings.tracing,
            isAskedFor: props.wakeOnEnqueue === true,
          });
    this.waker?.serve(settings, this.worker.function);
    const { alarms: thresholds = {}, alarmTopic: topic } = props;
    if (thresholds !== false) {
      const runbooks = validRunbooks(props.runbooks);
      this.waker?.watch(this.address, { runbooks, topic });
      this.alarms = new Alarms(this, 'Alarms', {
        address: this.address,
        scheduleExpression: expressionString,
        scheduleEnabled,
        schedule: this.dispatcher.schedule,
        dispatcher: this.dispatcher.function,
        worker: this.worker.function,
        workerTimeout: Duration.millis(settings.workerTimeoutMs),
        deadLetters: this.dispatcher.deadLetters,
        thresholds,
        runbooks,
        topic,
      });
      if (topic === undefined) this.warnOfSilence();
    }
    this.dashboard = props.dashboard === false ? undefined : TableDashboard.ofTable(this, this.table);
    this.dashboard?.add({
      queue: this.queue,
      dispatcher: this.dispatcher.function,
      worker: this.worker.function,
      alarms: [...(this.alarms?.all ?? []), ...(this.waker?.alarms ?? [])],
    });
  }

  /** A module's exports are known only when it runs, which is too late for a dispatcher, so this searches the module's text. */
  private warnOfSchedules({ entry, schedules }: WorkerSettings): void {
    if (entry === undefined || schedules.length > 0) return;
    if (!/^export\b[^;=]*\bschedules\b/m.test(readFileSync(entry, 'utf8'))) return;
    Annotations.of(this).addWarningV2(
      'leasehold:schedules',
      'the module of tasks exports schedules, and the stack does not define them: pass the same list as the prop schedules',
    );
  }

  private warnOfSilence(): void {
    Annotations.of(this).addWarningV2(
      'leasehold:alarmTopic',
      'alarmTopic is missing, so an alarm notifies nobody: pass a topic that reaches a person, or alarms: false',
    );
  }

  /** A note that `cdk synth` prints: the first burst already reaches the limit. */
  private sayHowMany({ queue, maxWorkers, concurrency }: WorkerSettings): void {
    const most = (maxWorkers * concurrency).toLocaleString('en-US');
    Annotations.of(this).addInfo(
      `queue ${queue}: at most ${maxWorkers} workers × ${concurrency} tasks = ${most} tasks at once (maxWorkers × concurrency)`,
    );
  }

  private get address(): QueueAddress {
    return { table: this.table.tableName, queue: this.queue };
  }

  /** The principal for your tasks' own permissions: `bucket.grantRead(workers)`. */
  get grantPrincipal(): IPrincipal {
    return this.worker.function.grantPrincipal;
  }

  /** Adds an environment variable for your tasks. @throws ConfigurationError for a name that Leasehold uses */
  addEnvironment(name: string, value: string): this {
    validateEnvironment({ [name]: value });
    this.worker.function.addEnvironment(name, value);
    return this;
  }

  /** Grants permission to add tasks to this queue and read them. For `onDuplicate: 'replace'` or `'debounce'`, see `grantReplace`. */
  grantEnqueue(grantee: IGrantable): Grant {
    return this.table.grant(grantee, enqueueAccess(this.queue));
  }

  /** Grants `grantEnqueue`, and permission to replace the work of existing tasks: `onDuplicate: 'replace'` and `'debounce'`. */
  grantReplace(grantee: IGrantable): Grant {
    return this.table.grant(grantee, replaceAccess(this.queue));
  }

  /** Grants permission to answer callbacks of durable tasks of this queue, with `tasks.callbacks`. It includes reading its tasks. */
  grantCallbacks(grantee: IGrantable): Grant {
    return this.table.grant(grantee, callbackAccess(this.queue));
  }

  /**
   * Grants the rights of `createWorker`, for a worker of this queue in a container or elsewhere. Grant other rights of your tasks (locks,
   * other queues, your own tables) to the same role, as to `workers`.
   */
  grantWork(grantee: IGrantable): Grant {
    return this.table.grant(grantee, containerAccess(this.queue));
  }

  /**
   * Lets a function enqueue tasks: grants `grantEnqueue`, and sets the variables of `createLeasehold()`:
   * table, queue, shards and clock bound.
   * @throws ConfigurationError if its variables already name another queue, because the last call would silently overwrite them
   */
  connect(producer: LambdaFunction): Grant {
    claimVariables(producer, this);
    setVariables(producer, { ...this.#settings, tableName: this.table.tableName });
    return this.grantEnqueue(producer);
  }

  /** Grants the use of sessions, locks, elections, semaphores and wait groups of the table; no tasks. */
  grantCoordinate(grantee: IGrantable): Grant {
    return this.table.grantCoordinate(grantee);
  }

  /**
   * Grants permission to define, list and remove schedules of this queue. The dispatcher enqueues recurring tasks, so this includes the
   * right to enqueue.
   */
  grantSchedule(grantee: IGrantable): Grant {
    return this.table.grant(grantee, scheduleAccess(this.queue));
  }

  /** Grants permission to read the queue, including payloads, and all coordination rows. No writes. */
  grantObserve(grantee: IGrantable): Grant {
    return this.table.grant(grantee, observeAccess(this.queue));
  }

  /** Grants permission to observe, and to act as an operator: retry, cancel, pause, force-release, destroy a session. */
  grantOperate(grantee: IGrantable): Grant {
    return this.table.grant(grantee, operateAccess(this.queue));
  }

  /** Returns a metric that the handlers report, such as `METRIC.tasksDead`: the sum over five minutes, or the maximum of a gauge. */
  metric(name: MetricName, options?: MetricOptions): Metric {
    return queueMetric(this.address, name, options);
  }

  /** Returns how long tasks of one name waited, ran, or took from end to end. Default statistic: the 99th percentile. */
  metricOfTask(name: TaskTimeName, task: string, options?: MetricOptions): Metric {
    return taskMetric(this.address, name, { task, ...options });
  }
}
