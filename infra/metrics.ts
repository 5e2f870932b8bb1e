/** The handlers' reports as CloudWatch metrics: names and dimensions are the handlers' own constants. */
import { Duration } from 'aws-cdk-lib';
import type { MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { MetricName, QueueAddress } from '../functions/metric-names.ts';
import { METRIC, METRICS_NAMESPACE, metricDimensions, taskDimensions } from '../functions/metric-names.ts';

/**
 * The statistic by kind: the maximum of a gauge, because it is measured once a tick; the 99th percentile of a time; the sum of everything
 * else.
 */
type Statistic = 'Sum' | 'Maximum' | 'p99';

/** The meaning of each metric, for the table in `docs/operating.md`, and the statistic that dashboard and alarms read. */
export const METRICS: Readonly<Record<MetricName, readonly [meaning: string, statistic: Statistic]>> = {
  [METRIC.tasksCompleted]: ['done tasks', 'Sum'],
  [METRIC.tasksFailed]: ['failed attempts; the task may still succeed', 'Sum'],
  [METRIC.tasksDead]: ['tasks that will not be retried', 'Sum'],
  [METRIC.tasksFailingLong]: ['failed attempts of tasks that have been failing for ten minutes or longer', 'Sum'],
  [METRIC.tasksHandedBack]: ['tasks handed back before the deadline, without counting the attempt', 'Sum'],
  [METRIC.tasksStalled]: ['tasks handed back at the deadline without new progress, at least twice in a row', 'Sum'],
  [METRIC.tasksSuspended]: ['durable tasks that began to wait', 'Sum'],
  [METRIC.tasksTakenOver]: ['tasks claimed from an expired session', 'Sum'],
  [METRIC.tasksNew]: [
    'tasks claimed within ten minutes of their insertion, which the waker should have noticed',
    'Sum',
  ],
  [METRIC.claimsRefused]: ['claims refused because another worker was faster; each costs a write unit', 'Sum'],
  [METRIC.leasesLost]: ['sessions lost while working', 'Sum'],
  [METRIC.eventLoopsBlocked]: ['heartbeats that were late because task code blocked the event loop', 'Sum'],
  [METRIC.sessionsExpired]: ['expired sessions of other workers that a worker ended', 'Sum'],
  [METRIC.rowsSkipped]: ['rows skipped because they are damaged, or of a later version', 'Sum'],
  [METRIC.tasksUnknown]: ['times that a worker skipped a task because its module does not define the name', 'Sum'],
  [METRIC.storeThrottled]: ['requests that DynamoDB throttled', 'Sum'],
  [METRIC.taskWaitMs]: ['from due to claimed; a takeover has none', 'p99'],
  [METRIC.taskRunMs]: ['from claimed to done, of the attempt that completed the task', 'p99'],
  [METRIC.taskEndToEndMs]: ['from enqueued to done, delays and retries included', 'p99'],
  [METRIC.oldestReadyTaskAgeMs]: ['how long the oldest due task has waited', 'Maximum'],
  [METRIC.backlogSize]: ['due tasks', 'Maximum'],
  [METRIC.workersInvoked]: ['workers started by a tick or a wake', 'Sum'],
  [METRIC.workersLive]: ['workers at work', 'Maximum'],
  [METRIC.workersMissing]: ['workers that the backlog needs beyond `maxWorkers`', 'Sum'],
  [METRIC.ticksDuplicated]: ['ticks delivered again after another invocation had taken them', 'Sum'],
};

export type TaskTimeName = (typeof METRIC)['taskWaitMs' | 'taskRunMs' | 'taskEndToEndMs'];

export function queueMetric(address: QueueAddress, metricName: MetricName, options: MetricOptions = {}): Metric {
  return new Metric({
    namespace: METRICS_NAMESPACE,
    metricName,
    dimensionsMap: metricDimensions(address),
    statistic: METRICS[metricName][1],
    period: Duration.minutes(5),
    ...options,
  });
}

export function taskMetric(
  address: QueueAddress,
  name: TaskTimeName,
  { task, ...options }: MetricOptions & { readonly task: string },
): Metric {
  return queueMetric(address, name, { dimensionsMap: taskDimensions(address, task), ...options });
}
