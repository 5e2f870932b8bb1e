/** The handlers' reports as CloudWatch metrics: names and dimensions are the handlers' own constants. */
import { Duration } from 'aws-cdk-lib';
import type { MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { MetricName, QueueAddress } from '../functions/metric-names.ts';
import { METRIC, METRICS_NAMESPACE, metricDimensions, taskDimensions } from '../functions/metric-names.ts';

/**
 * Gauges are read once a tick, so their worst value counts;
 * of times what one task in a hundred exceeds; everything else is an event to add up.
 */
const GAUGES: ReadonlySet<MetricName> = new Set([METRIC.oldestReadyTaskAgeMs, METRIC.backlogSize, METRIC.workersLive]);
const TIMES: ReadonlySet<MetricName> = new Set([METRIC.taskWaitMs, METRIC.taskRunMs, METRIC.taskEndToEndMs]);

export type TaskTimeName = (typeof METRIC)['taskWaitMs' | 'taskRunMs' | 'taskEndToEndMs'];

export function queueMetric(address: QueueAddress, metricName: MetricName, options: MetricOptions = {}): Metric {
  return new Metric({
    namespace: METRICS_NAMESPACE,
    metricName,
    dimensionsMap: metricDimensions(address),
    statistic: GAUGES.has(metricName) ? 'Maximum' : TIMES.has(metricName) ? 'p99' : 'Sum',
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
