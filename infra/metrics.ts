/** What the handlers report, as CloudWatch metrics: names and dimensions are the handlers' own constants. */
import { Duration } from 'aws-cdk-lib';
import type { MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { MetricName, QueueAddress } from '../functions/metric-names.ts';
import { METRIC, METRICS_NAMESPACE, metricDimensions } from '../functions/metric-names.ts';

/** Gauges are read once a tick, so their worst value counts; everything else is an event to add up. */
const GAUGES: ReadonlySet<MetricName> = new Set([METRIC.oldestReadyTaskAgeMs, METRIC.backlogSize, METRIC.workersLive]);

export function queueMetric(address: QueueAddress, metricName: MetricName, options: MetricOptions = {}): Metric {
  return new Metric({
    namespace: METRICS_NAMESPACE,
    metricName,
    dimensionsMap: metricDimensions(address),
    statistic: GAUGES.has(metricName) ? 'Maximum' : 'Sum',
    period: Duration.minutes(5),
    ...options,
  });
}
