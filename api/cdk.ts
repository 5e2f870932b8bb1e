/** `leasehold/cdk`: constructs that deploy a queue and its workers. */
export { TaskWorkers } from '../infra/task-workers.ts';
export type { TaskWorkersProps, WorkerBundling } from '../infra/task-workers-props.ts';
export { CoordinationTable } from '../infra/table.ts';
export type { CoordinationTableProps } from '../infra/table.ts';
export { ConsulGateway, type ConsulGatewayProps } from '../consul/infra/consul-gateway.ts';
export type { Alarms } from '../infra/alarms.ts';
export type { TableDashboard } from '../infra/dashboard.ts';
export type { Dispatcher } from '../infra/dispatcher.ts';
export type { HandlerFunction } from '../infra/handler-function.ts';
export type { Waker } from '../infra/waker.ts';
export type { WorkerFunction } from '../infra/worker.ts';
export { METRIC } from '../functions/metric-names.ts';
