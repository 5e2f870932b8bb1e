/**
 * One page for the queues of a table. It shows whether work waits, whether it gets done, whether workers contend for the same tasks, and
 * the cost.
 * CloudWatch bills each dashboard regardless of its content, so the queues of one stack share one.
 */
import { Duration, Stack } from 'aws-cdk-lib';
import type { IAlarm, IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import { AlarmStatusWidget, Dashboard, GraphWidget, MathExpression, TextWidget } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { MetricName } from '../functions/metric-names.ts';
import { METRIC } from '../functions/metric-names.ts';
import { queueMetric } from './metrics.ts';
import type { CoordinationTable } from './table.ts';

/** A queue on the dashboard. */
export interface WatchedQueue {
  readonly queue: string;
  readonly dispatcher: IFunction;
  readonly worker: IFunction;
  /** Alarms of the queue, and of its shared waker. */
  readonly alarms: readonly IAlarm[];
}

const WIDTH = 8;
const PERIOD = Duration.minutes(1);

export class TableDashboard extends Construct {
  /** The dashboard of this table in the stack of `scope`. */
  static ofTable(scope: Construct, table: CoordinationTable): TableDashboard {
    const stack = Stack.of(scope);
    const [parent, id] =
      Stack.of(table) === stack ? [table, 'Dashboard'] : [stack, `LeaseholdDashboard${table.node.addr.slice(-8)}`];
    const found = parent.node.tryFindChild(id) as TableDashboard | undefined;
    return found ?? new TableDashboard(parent, id, table.table);
  }

  readonly dashboard: Dashboard;
  readonly #table: ITable;

  constructor(scope: Construct, id: string, table: ITable) {
    super(scope, id);
    this.#table = table;
    this.dashboard = new Dashboard(this, 'Dashboard', { defaultInterval: Duration.hours(3) });
    this.dashboard.addWidgets(
      graph('Capacity units', [
        table.metricConsumedWriteCapacityUnits({ period: PERIOD }),
        table.metricConsumedReadCapacityUnits({ period: PERIOD }),
      ]),
      graph('Rows deleted by TTL', [
        table.metric('TimeToLiveDeletedItemCount', { period: Duration.hours(1), statistic: 'Sum' }),
      ]),
    );
  }

  /** Adds the graphs of one more queue. */
  add({ queue, dispatcher, worker, alarms }: WatchedQueue): void {
    const address = { table: this.#table.tableName, queue };
    const reported = (...names: (keyof typeof METRIC)[]): IMetric[] =>
      names.map((name) => queueMetric(address, METRIC[name], { period: PERIOD }));
    // Zeros are not sent, and a gap would look like missing reports.
    const gauge = (name: MetricName): IMetric =>
      new MathExpression({
        expression: 'FILL(gauge, 0)',
        label: name,
        usingMetrics: { gauge: queueMetric(address, name, { period: PERIOD }) },
        period: PERIOD,
      });
    const percentiles = (name: MetricName): IMetric[] =>
      ['p50', 'p90', 'p99'].map((statistic) =>
        queueMetric(address, name, { period: PERIOD, statistic, label: statistic }),
      );
    this.dashboard.addWidgets(
      alarms.length === 0
        ? new TextWidget({ markdown: `# Queue ${queue}`, width: 3 * WIDTH, height: 1 })
        : new AlarmStatusWidget({ title: `Queue ${queue}`, alarms: [...alarms], width: 3 * WIDTH }),
    );
    this.dashboard.addWidgets(
      graph('Waiting', [gauge(METRIC.backlogSize)], reported('oldestReadyTaskAgeMs')),
      graph('Workers', [gauge(METRIC.workersLive), ...reported('workersInvoked')]),
      graph(
        'Finished',
        reported('tasksCompleted', 'tasksFailed', 'tasksFailingLong', 'tasksDead', 'tasksHandedBack', 'tasksStalled'),
      ),
    );
    this.dashboard.addWidgets(
      graph('Wait: due to claimed', percentiles(METRIC.taskWaitMs)),
      graph('Run: claimed to done', percentiles(METRIC.taskRunMs)),
      graph('End to end: enqueued to done', percentiles(METRIC.taskEndToEndMs)),
    );
    this.dashboard.addWidgets(
      graph('Recovery', reported('tasksTakenOver', 'sessionsExpired', 'leasesLost', 'eventLoopsBlocked')),
      graph('Waste', reported('claimsRefused', 'storeThrottled', 'ticksDuplicated', 'rowsSkipped', 'tasksUnknown')),
      graph('Worker throttles', [worker.metricThrottles()]),
    );
    this.dashboard.addWidgets(
      graph('Worker function', [worker.metricInvocations(), worker.metricErrors()], [worker.metricDuration()]),
      graph(
        'Dispatcher function',
        [dispatcher.metricInvocations(), dispatcher.metricErrors()],
        [dispatcher.metricDuration()],
      ),
    );
  }
}

function graph(title: string, left: IMetric[], right: IMetric[] = []): GraphWidget {
  return new GraphWidget({ title, left, right, width: WIDTH });
}
