/** One queue on one page: is work waiting, is it being done, do workers contend for the same tasks, what does it cost. */
import { Duration } from 'aws-cdk-lib';
import type { IAlarm, IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import { AlarmStatusWidget, Dashboard, GraphWidget } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { MetricName } from '../functions/metric-names.ts';
import { METRIC } from '../functions/metric-names.ts';
import { queueMetric } from './metrics.ts';

interface QueueDashboardProps {
  readonly queue: string;
  readonly table: ITable;
  readonly dispatcher: IFunction;
  readonly worker: IFunction;
  /** Of the queue, and of the waker that it shares. */
  readonly alarms: readonly IAlarm[];
}

const WIDTH = 8;

export class QueueDashboard extends Construct {
  readonly dashboard: Dashboard;

  constructor(scope: Construct, id: string, props: QueueDashboardProps) {
    super(scope, id);
    const { queue, table, dispatcher, worker, alarms } = props;
    const address = { table: table.tableName, queue };
    const reported = (name: MetricName): IMetric => queueMetric(address, name, { period: Duration.minutes(1) });
    const percentiles = (name: MetricName): IMetric[] =>
      ['p50', 'p90', 'p99'].map((statistic) =>
        queueMetric(address, name, { period: Duration.minutes(1), statistic, label: statistic }),
      );
    const graph = (title: string, left: IMetric[], right: IMetric[] = []): GraphWidget =>
      new GraphWidget({ title, left, right, width: WIDTH });
    const status = new AlarmStatusWidget({
      title: `Queue ${queue}`,
      alarms: [...alarms],
      width: 3 * WIDTH,
    });

    this.dashboard = new Dashboard(this, 'Dashboard', {
      defaultInterval: Duration.hours(3),
      widgets: [
        alarms.length === 0 ? [] : [status],
        [
          graph('Waiting', [reported(METRIC.backlogSize)], [reported(METRIC.oldestReadyTaskAgeMs)]),
          graph('Workers', [reported(METRIC.workersLive), reported(METRIC.workersInvoked)]),
          graph('Finished', [
            reported(METRIC.tasksCompleted),
            reported(METRIC.tasksFailed),
            reported(METRIC.tasksFailingLong),
            reported(METRIC.tasksDead),
            reported(METRIC.tasksReleased),
            reported(METRIC.tasksStalled),
          ]),
        ],
        [
          graph('Wait: due to claimed', percentiles(METRIC.taskWaitMs)),
          graph('Run: claimed to done', percentiles(METRIC.taskRunMs)),
          graph('End to end: enqueued to done', percentiles(METRIC.taskEndToEndMs)),
        ],
        [
          graph('Recovery', [
            reported(METRIC.tasksTakenOver),
            reported(METRIC.sessionsInvalidated),
            reported(METRIC.leasesLost),
            reported(METRIC.eventLoopsBlocked),
          ]),
          graph('Waste', [
            reported(METRIC.claimsRefused),
            reported(METRIC.storeThrottled),
            reported(METRIC.ticksDuplicated),
            reported(METRIC.rowsSkipped),
            reported(METRIC.tasksUnknown),
          ]),
          graph('Capacity units', [
            table.metricConsumedWriteCapacityUnits({ period: Duration.minutes(1) }),
            table.metricConsumedReadCapacityUnits({ period: Duration.minutes(1) }),
          ]),
        ],
        [
          graph('Worker function', [worker.metricInvocations(), worker.metricErrors()], [worker.metricDuration()]),
          graph('Worker throttles', [worker.metricThrottles()]),
          graph(
            'Dispatcher function',
            [dispatcher.metricInvocations(), dispatcher.metricErrors()],
            [dispatcher.metricDuration()],
          ),
        ],
      ],
    });
  }
}
