/**
 * Alarms: one for each way in which the system can fail its users, and no others.
 * Each description ends in the heading of its runbook, which explains the alarm and the remedy.
 */
import { Duration } from 'aws-cdk-lib';
import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import { Alarm, ComparisonOperator, MathExpression, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IDependable } from 'constructs';
import { Construct } from 'constructs';
import type { QueueAddress } from '../functions/metric-names.ts';
import { METRIC } from '../functions/metric-names.ts';
import { queueMetric } from './metrics.ts';
import { periodMs } from './validate.ts';

/** Thresholds of the alarms. */
export interface AlarmThresholds {
  /**
   * Maximum wait of a task. Default: three periods of the schedule,
   * but at least ten minutes; 25 hours for a cron expression without a known period.
   */
  readonly oldestReadyTask?: Duration;
  /** Tasks that died within five minutes. Default: 1. */
  readonly deadTasks?: number;
  /** Failed attempts within five minutes, of tasks that have been failing for ten minutes. Default: 1. */
  readonly failingTasks?: number;
  /** Leases lost within five minutes, in two of three periods; in one period if the schedule is slower than five minutes. Default: 1. */
  readonly lostLeases?: number;
  /** Share of refused claims, in percent, when more than a hundred were tried in five minutes. Default: 20. */
  readonly refusedClaimsPercent?: number;
  /** Invocations of the worker that ended with an error within five minutes. Default: 1. */
  readonly workerErrors?: number;
  /** Requests that DynamoDB throttled within five minutes, in two of three periods. Default: 1. */
  readonly throttles?: number;
}

interface AlarmsProps {
  readonly address: QueueAddress;
  readonly scheduleExpression: string;
  readonly scheduleEnabled: boolean;
  /** The schedule that sends the ticks. */
  readonly schedule: IDependable;
  readonly dispatcher: IFunction;
  readonly worker: IFunction;
  /** How long an invocation of the worker may take. */
  readonly workerTimeout: Duration;
  readonly deadLetters: IQueue;
  readonly thresholds: AlarmThresholds;
  /** The URL of the guide with the runbooks. */
  readonly runbooks: string;
  /** Default: none; the alarms only show their state. */
  readonly topic?: ITopic | undefined;
}

const MINUTE_MS = 60_000;
const MIN_PATIENCE_MS = 10 * MINUTE_MS;
/** The period of our metrics. Ticks at least this frequent report in every period. */
const FREQUENT_MS = 5 * MINUTE_MS;
/** The period of most cron expressions is unknown. A day is the longest common period; this adds an hour of slack. */
const CRON_PATIENCE_MS = 25 * 60 * MINUTE_MS;
/** With fewer claims than this, the share of refusals is not meaningful. */
const CLAIMS_WORTH_JUDGING = 100;

/** How many of the last periods must reach the threshold. Default: 1 of 1. */
interface Evidence {
  readonly breaching?: number;
  readonly of?: number;
}

interface Rule extends Evidence {
  readonly id: string;
  readonly what: string;
  readonly metric: IMetric;
  /** Default: 1. */
  readonly threshold?: number | undefined;
  readonly missingData?: TreatMissingData;
  /** Resources that must exist before CloudWatch judges missing data. */
  readonly after?: IDependable;
}

export class Alarms extends Construct {
  readonly all: readonly Alarm[];

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    const { address, topic, runbooks } = props;
    this.all = alarmRules(props).map((rule) => {
      const alarm = addAlarm(this, { subject: `Queue ${address.queue}`, runbooks }, rule);
      if (topic !== undefined) alarm.addAlarmAction(new SnsAction(topic));
      return alarm;
    });
  }
}

/** Creates an alarm whose description explains it and ends in its runbook. */
export function addAlarm(
  scope: Construct,
  { subject, runbooks }: { readonly subject: string; readonly runbooks: string },
  rule: Rule,
): Alarm {
  const alarm = new Alarm(scope, rule.id, {
    alarmDescription: `${subject}: ${rule.what}. Runbook: ${runbooks}#runbook-${kebab(rule.id)}`,
    metric: rule.metric,
    threshold: rule.threshold ?? 1,
    comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    evaluationPeriods: rule.of ?? 1,
    datapointsToAlarm: rule.breaching ?? 1,
    treatMissingData: rule.missingData ?? TreatMissingData.NOT_BREACHING,
  });
  if (rule.after !== undefined) alarm.node.addDependency(rule.after);
  return alarm;
}

function alarmRules(props: AlarmsProps): Rule[] {
  const { address, dispatcher, worker, deadLetters, thresholds } = props;
  const periodOfTicks = periodMs(props.scheduleExpression);
  const isFrequent = periodOfTicks !== undefined && periodOfTicks <= FREQUENT_MS;
  /** Tick metrics arrive once per tick. If ticks are rare, the alarm must judge by one report. */
  const perTick = (evidence: Evidence): Evidence => (isFrequent ? evidence : {});
  return [
    {
      id: 'OldestReadyTask',
      what: 'a due task has been waiting for too long, or the dispatcher has stopped reporting',
      metric: queueMetric(address, METRIC.oldestReadyTaskAgeMs),
      threshold: (thresholds.oldestReadyTask ?? patience(periodOfTicks)).toMilliseconds(),
      ...perTick({ breaching: 3, of: 3 }),
      missingData: silence({ isFrequent, scheduleEnabled: props.scheduleEnabled }),
      after: props.schedule,
    },
    {
      id: 'DeadTasks',
      what: 'tasks have died and will not be tried again',
      metric: queueMetric(address, METRIC.tasksDead),
      threshold: thresholds.deadTasks,
    },
    {
      id: 'FailingTasks',
      what: 'tasks have been failing for ten minutes, and will be dead if they go on',
      metric: queueMetric(address, METRIC.tasksFailingLong),
      // By then, attempts are far apart, so one report is enough.
      threshold: thresholds.failingTasks,
    },
    {
      id: 'LostLeases',
      what: 'workers lose their sessions while they work',
      metric: queueMetric(address, METRIC.leasesLost),
      threshold: thresholds.lostLeases,
      ...perTick({ breaching: 2, of: 3 }),
    },
    {
      id: 'RefusedClaims',
      what: 'too many claims are refused: more workers than work',
      metric: refusedClaimsPercent(address),
      threshold: thresholds.refusedClaimsPercent ?? 20,
      breaching: 3,
      of: 3,
    },
    {
      id: 'Throttles',
      what: 'DynamoDB throttles the table',
      metric: queueMetric(address, METRIC.storeThrottled),
      threshold: thresholds.throttles,
      breaching: 2,
      of: 3,
    },
    {
      id: 'SkippedRows',
      what: 'rows are damaged, or were written by a later version, and are left alone',
      metric: queueMetric(address, METRIC.rowsSkipped),
      // An upgrade may cause this briefly. If it lasts a quarter of an hour, an operator must act.
      ...perTick({ breaching: 3, of: 3 }),
    },
    {
      id: 'StalledTasks',
      what: 'tasks are handed back at the deadline again and again, and come no further',
      metric: queueMetric(address, METRIC.tasksStalled),
    },
    {
      id: 'UnknownTasks',
      what: 'tasks wait whose names no worker that met them knows',
      metric: queueMetric(address, METRIC.tasksUnknown),
      // While a deployment that adds a task rolls out, old workers may find that task.
      ...perTick({ breaching: 3, of: 3 }),
    },
    {
      id: 'WorkerErrors',
      what: 'workers die: out of memory, at their timeout, of an error outside of a task, or before they work',
      metric: worker.metricErrors({ period: Duration.millis(FREQUENT_MS) }),
      threshold: thresholds.workerErrors,
      of: periodsOfInvocation(props.workerTimeout),
    },
    {
      id: 'DispatcherErrors',
      what: 'the dispatcher fails, or can start no worker',
      metric: dispatcher.metricErrors({ period: Duration.minutes(5) }),
      ...perTick({ breaching: 2, of: 3 }),
    },
    {
      id: 'StartsDropped',
      what: 'Lambda throttles the worker or the dispatcher, or drops what starts workers: tasks wait although nothing is broken',
      metric: droppedStarts(worker, dispatcher),
      breaching: 2,
      of: 3,
    },
    {
      id: 'ScheduleDeadLetters',
      what: 'ticks of the schedule could not be delivered, or failed every retry',
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(5),
        statistic: 'Maximum',
      }),
    },
  ];
}

/**
 * With a frequent schedule, missing data breaches: the alarm is then also the dead man's switch of the dispatcher.
 * With a rare schedule, missing data is normal: the last tick's report holds until the next tick.
 */
function silence(schedule: { readonly isFrequent: boolean; readonly scheduleEnabled: boolean }): TreatMissingData {
  if (!schedule.scheduleEnabled) return TreatMissingData.NOT_BREACHING;
  return schedule.isFrequent ? TreatMissingData.BREACHING : TreatMissingData.IGNORE;
}

/**
 * Lambda counts an error at the start time of its invocation, so the report of a worker that crashes at its end is that many periods late.
 * Two more periods are for the current one and for the delay of the report.
 */
function periodsOfInvocation(timeout: Duration): number {
  return Math.ceil(timeout.toMilliseconds() / FREQUENT_MS) + 2;
}

function patience(periodOfTicks: number | undefined): Duration {
  return Duration.millis(periodOfTicks === undefined ? CRON_PATIENCE_MS : Math.max(MIN_PATIENCE_MS, 3 * periodOfTicks));
}

function refusedClaimsPercent(address: QueueAddress): MathExpression {
  return new MathExpression({
    label: 'refused claims, %',
    expression:
      `IF(FILL(refused, 0) + FILL(claimed, 0) >= ${CLAIMS_WORTH_JUDGING}, ` +
      '100 * FILL(refused, 0) / (FILL(refused, 0) + FILL(claimed, 0)), 0)',
    usingMetrics: {
      refused: queueMetric(address, METRIC.claimsRefused),
      // Each claim except a takeover reports one wait, so the number of waits counts claims without another metric.
      claimed: queueMetric(address, METRIC.taskWaitMs, { statistic: 'SampleCount' }),
    },
    period: Duration.minutes(5),
  });
}

/** Lambda accepts an event that starts a worker, and drops it after a minute without free concurrency. */
function droppedStarts(worker: IFunction, dispatcher: IFunction): MathExpression {
  const period = Duration.minutes(5);
  return new MathExpression({
    label: 'dropped and throttled starts',
    expression: 'FILL(dropped, 0) + FILL(throttled, 0) + FILL(ticks, 0)',
    usingMetrics: {
      dropped: worker.metric('AsyncEventsDropped', { statistic: 'Sum', period }),
      throttled: worker.metricThrottles({ period }),
      ticks: dispatcher.metricThrottles({ period }),
    },
    period,
  });
}

function kebab(id: string): string {
  return id.replaceAll(/(?<!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}
