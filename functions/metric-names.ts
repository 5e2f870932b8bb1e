/**
 * Names of metrics for the handlers that report them, and for the dashboard and alarms that read them.
 * CloudWatch compares names and dimensions exactly, and an alarm on a name that is never sent stays silent forever. So both sides import
 * these.
 */

export const METRICS_NAMESPACE = 'Leasehold';
/** Powertools adds it to every metric as the dimension `service`. */
export const METRICS_SERVICE = 'leasehold';

/** A queue and its table, because two deployments in one account may use the same queue names. */
export interface QueueAddress {
  readonly table: string;
  readonly queue: string;
}

/** The dimensions that every metric has. */
export function metricDimensions({ table, queue }: QueueAddress): Record<'service' | 'table' | 'queue', string> {
  return { service: METRICS_SERVICE, table, queue };
}

/** Dimensions for the times of one task name, in the same lines as the queue's. */
export function taskDimensions(address: QueueAddress, task: string): Record<string, string> {
  return { ...metricDimensions(address), task };
}

/** `METRICS` in `infra/metrics.ts` says what each means. */
export const METRIC = {
  // by workers
  tasksCompleted: 'TasksCompleted',
  tasksFailed: 'TasksFailed',
  tasksDead: 'TasksDead',
  tasksFailingLong: 'TasksFailingLong',
  tasksHandedBack: 'TasksHandedBack',
  tasksStalled: 'TasksStalled',
  tasksSuspended: 'TasksSuspended',
  tasksTakenOver: 'TasksTakenOver',
  tasksNew: 'TasksNew',
  claimsRefused: 'ClaimsRefused',
  leasesLost: 'LeasesLost',
  eventLoopsBlocked: 'EventLoopsBlocked',
  sessionsExpired: 'SessionsExpired',
  rowsSkipped: 'RowsSkipped',
  tasksUnknown: 'TasksUnknown',
  storeThrottled: 'StoreThrottled',
  // by workers, as values
  taskWaitMs: 'TaskWaitMs',
  taskRunMs: 'TaskRunMs',
  taskEndToEndMs: 'TaskEndToEndMs',
  // by the dispatcher
  oldestReadyTaskAgeMs: 'OldestReadyTaskAgeMs',
  backlogSize: 'BacklogSize',
  workersInvoked: 'WorkersInvoked',
  workersLive: 'WorkersLive',
  workersMissing: 'WorkersMissing',
  ticksDuplicated: 'TicksDuplicated',
} as const;

export type MetricName = (typeof METRIC)[keyof typeof METRIC];
