/**
 * Alarms of a waker, once for all queues that it wakes.
 *
 * The next tick makes up for a failed waker, so without these alarms only late tasks would show the failure.
 */
import { Duration, Lazy } from 'aws-cdk-lib';
import type { Alarm, CfnAlarm, IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { QueueAddress } from '../functions/metric-names.ts';
import { METRIC } from '../functions/metric-names.ts';
import { assert } from '../shared/core/errors.ts';
import { addAlarm } from './alarms.ts';
import { queueMetric } from './metrics.ts';

const PERIOD = Duration.minutes(5);
/** Half of the age at which Lambda drops a record. */
const LATE_MS = 30_000;
/** An alarm supports ten metrics, and one of them counts the waker's invocations. */
const MAX_QUEUES_HEARD = 9;

interface WakerAlarmsProps {
  readonly waker: IFunction;
  readonly runbooks: string;
}

export class WakerAlarms extends Construct {
  readonly all: readonly Alarm[];
  readonly #queues: QueueAddress[] = [];
  readonly #topics = new Set<ITopic>();

  constructor(scope: Construct, id: string, { waker, runbooks }: WakerAlarmsProps) {
    super(scope, id);
    const words = { subject: 'Waker', runbooks };
    const failing = addAlarm(this, words, {
      id: 'WakerFailing',
      what: 'it fails or is throttled, so tasks wait for the next tick',
      metric: new MathExpression({
        label: 'failed and throttled invocations',
        expression: 'FILL(errors, 0) + FILL(throttles, 0)',
        usingMetrics: {
          errors: waker.metricErrors({ period: PERIOD }),
          throttles: waker.metricThrottles({ period: PERIOD }),
        },
        period: PERIOD,
      }),
      breaching: 2,
      of: 3,
    });
    const late = addAlarm(this, words, {
      id: 'WakerLate',
      what: 'it reads insertions half a minute late; Lambda drops them after a minute',
      metric: waker.metric('IteratorAge', { statistic: 'Maximum', period: PERIOD }),
      threshold: LATE_MS,
      breaching: 2,
      of: 3,
    });
    const silent = addAlarm(this, words, {
      id: 'WakerSilent',
      what: 'tasks are inserted and the waker is not invoked, so they wait for the next tick',
      // Replaced at synthesis, because most queues are added after the alarm.
      metric: new MathExpression({
        expression: 'FILL(invocations, 0)',
        usingMetrics: { invocations: waker.metricInvocations({ period: PERIOD }) },
        period: PERIOD,
      }),
      breaching: 3,
      of: 3,
    });
    (silent.node.defaultChild as CfnAlarm).metrics = Lazy.any({ produce: () => queriesOf(waker, this.#queues) });
    this.all = [failing, late, silent];
  }

  /** Adds a queue that the waker serves, and the topic to notify. */
  add(queue: QueueAddress, topic: ITopic | undefined): void {
    if (this.#queues.length < MAX_QUEUES_HEARD) this.#queues.push(queue);
    if (topic === undefined || this.#topics.has(topic)) return;
    this.#topics.add(topic);
    for (const alarm of this.all) alarm.addAlarmAction(new SnsAction(topic));
  }
}

/**
 * Whether tasks were inserted and the waker was not invoked. Workers count a task as new if it was inserted at most ten minutes before they
 * claimed it, so with three periods of five minutes a claim in the last one proves an insertion in one of the three.
 */
function queriesOf(waker: IFunction, queues: readonly QueueAddress[]): CfnAlarm.MetricDataQueryProperty[] {
  const inserted = queues.map((queue, n) => queryOf(`inserted${n}`, queueMetric(queue, METRIC.tasksNew)));
  const sum = inserted.map(({ id }) => `FILL(${id}, 0)`).join(' + ');
  return [
    { id: 'silent', expression: `IF(${sum} > 0 AND FILL(invocations, 0) == 0, 1, 0)`, label: 'silence of the waker' },
    queryOf('invocations', waker.metricInvocations({ period: PERIOD })),
    ...inserted,
  ];
}

function queryOf(id: string, metric: IMetric): CfnAlarm.MetricDataQueryProperty {
  const { metricStat } = metric.toMetricConfig();
  assert(metricStat !== undefined, `metric ${id} is computed`);
  const { namespace, metricName, dimensions = [], period, statistic } = metricStat;
  const queried = { namespace, metricName, dimensions: [...dimensions] };
  return { id, metricStat: { metric: queried, period: period.toSeconds(), stat: statistic }, returnData: false };
}
