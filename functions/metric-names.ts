/**
 * Names of metrics for the handlers that report them, and for the dashboard and alarms that read them.
 * CloudWatch compares names and dimensions exactly, and an alarm on a name that is never sent stays silent forever. So both sides import
 * these.
 */

export const METRICS_NAMESPACE = 'Leasehold';
/** Powertools adds it to every metric as the dimension `service`. */
export const METRICS_SERVICE = 'leasehold';

/** A queue, and the table that it is on: two deployments in one account may well name their queues alike. */
export interface QueueAddress {
  readonly table: string;
  readonly queue: string;
}

/** The one set of dimensions that every metric carries. */
export function metricDimensions({ table, queue }: QueueAddress): Record<'service' | 'table' | 'queue', string> {
  return { service: METRICS_SERVICE, table, queue };
}

/** Dimensions for the times of one task name, in the same lines as the queue's. */
export function taskDimensions(address: QueueAddress, task: string): Record<string, string> {
  return { ...metricDimensions(address), task };
}

export const METRIC = {
  // by workers
  tasksCompleted: 'TasksCompleted',
  /** Attempts that failed; the task may still succeed. */
  tasksFailed: 'TasksFailed',
  /** Tasks that will not be tried again. */
  tasksDead: 'TasksDead',
  /** Failed attempts of tasks that have been failing for ten minutes or longer. */
  tasksFailingLong: 'TasksFailingLong',
  /** Handed back before the deadline, attempt refunded. */
  tasksReleased: 'TasksReleased',
  /** Handed back at the deadline without new progress, at least twice in a row: tasks that may never fit into a worker's life. */
  tasksStalled: 'TasksStalled',
  /** Claimed from a session that had died. */
  tasksTakenOver: 'TasksTakenOver',
  /** Tasks claimed within ten minutes of their insertion, which the waker should have noticed. */
  tasksNew: 'TasksNew',
  /** Another worker was faster: paid for without work. */
  claimsRefused: 'ClaimsRefused',
  /** Rights lost while working. */
  leasesLost: 'LeasesLost',
  /** Heartbeats that came late because task code blocked the event loop. */
  eventLoopsBlocked: 'EventLoopsBlocked',
  /** Sessions of others found expired and ended. */
  sessionsInvalidated: 'SessionsInvalidated',
  /** Rows left alone: damaged, or of a later version. */
  rowsSkipped: 'RowsSkipped',
  /** Times that tasks were left alone because the worker's module does not define their names. */
  tasksUnknown: 'TasksUnknown',
  storeThrottled: 'StoreThrottled',
  // by workers, as values: of the queue, and of each task name
  /** From when a task was due until it was claimed; of a takeover there is none. */
  taskWaitMs: 'TaskWaitMs',
  /** The attempt that completed it. */
  taskRunMs: 'TaskRunMs',
  /** From its enqueueing until it was done, delays and retries included. */
  taskEndToEndMs: 'TaskEndToEndMs',
  // by the dispatcher
  oldestReadyTaskAgeMs: 'OldestReadyTaskAgeMs',
  backlogSize: 'BacklogSize',
  workersInvoked: 'WorkersInvoked',
  workersLive: 'WorkersLive',
  /** That the backlog needs beyond `maxWorkers`. */
  workersMissing: 'WorkersMissing',
  /** Deliveries of a tick whose slot was already taken. */
  ticksDuplicated: 'TicksDuplicated',
} as const;

export type MetricName = (typeof METRIC)[keyof typeof METRIC];
