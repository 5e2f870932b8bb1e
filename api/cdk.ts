/** `leasehold/cdk`: constructs that deploy a queue and its workers. */
export { TaskWorkers } from '../infra/task-workers.ts';
export type { TaskWorkersProps, TickSchedule, WorkerBundling } from '../infra/task-workers-props.ts';
export { CoordinationTable } from '../infra/table.ts';
export type { CoordinationTableProps } from '../infra/table.ts';
export type { AccessRule, RowAction } from '../infra/access.ts';
export { ConsulGateway, type ConsulGatewayProps } from '../consul/infra/consul-gateway.ts';
export type { AlarmThresholds, Alarms } from '../infra/alarms.ts';
export type { TableDashboard, WatchedQueue } from '../infra/dashboard.ts';
export type { Dispatcher } from '../infra/dispatcher.ts';
export type { HandlerFunction } from '../infra/handler-function.ts';
export type { Waker } from '../infra/waker.ts';
export type { WorkerFunction } from '../infra/worker.ts';
export type { TaskTimeName } from '../infra/metrics.ts';
export { METRIC } from '../functions/metric-names.ts';
export type { MetricName, QueueAddress } from '../functions/metric-names.ts';
