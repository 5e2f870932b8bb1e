/**
 * Costs of a deployed queue outside the table and the functions: metrics, alarms, dashboard, logs, traces, scheduler calls.
 *
 * CloudWatch bills a metric for the hours in which it is sent, and an alarm by the metrics that it reads.
 * `test/infra/alarms.full.test.ts` compares the counts with the stack and the handlers. Bytes of logs are estimates.
 */
import type { Use } from './prices.ts';
import type { Workload } from './workload.ts';

export type WatchedWorkload = Pick<
  Workload,
  'tasksPerDay' | 'attemptsPerTask' | 'refusedPerTask' | 'timedNames' | 'alarms' | 'dashboard' | 'tracing'
>;

/** Monthly events that are logged and traced. */
export interface Activity {
  readonly ticks: number;
  readonly wakes: number;
  readonly starts: number;
  readonly workerSeconds: number;
  /** Share of hours with at least one task. */
  readonly activeHours: number;
}

/** Metrics that the handlers of a queue send. */
export const METRICS_SENT = {
  /** With each tick: the age of the oldest due task. */
  always: 1,
  /** In hours with tasks: backlog, workers live and invoked, tasks completed and new, and their wait, run and end to end. */
  withTasks: 8,
  /** For each name of `timedNames`. */
  perTimedName: 3,
} as const;

/** Metrics that alarms read. The waker has its alarms only once, plus one metric for each queue. */
export const ALARM_METRICS = { ofQueue: 16, ofQueueInWaker: 1, ofWaker: 4 } as const;

/** Of START, END, REPORT, the functions' own lines and their metrics. The waker omits the first three. */
const LOG_BYTES = { perTick: 1_600, perStart: 2_800, perWorkerSecond: 120, perTask: 20 } as const;
/** X-Ray traces the first request of a second, and one in twenty of the others. */
const SAMPLED_SHARE = 0.05;
const SECONDS_PER_MONTH = 30 * 86_400;

/** Lines of the bill that all queues of a table share. */
export const ONCE_A_TABLE = ['alarms of the waker, once a table', 'dashboard, once a table'] as const;

/** Returns the use of the first queue of a table. */
export function watchingOf(workload: WatchedWorkload, activity: Activity): readonly Use[] {
  const { tasksPerDay, alarms, dashboard, tracing } = workload;
  const { ticks, wakes, starts, workerSeconds } = activity;
  const bytes =
    ticks * LOG_BYTES.perTick +
    starts * LOG_BYTES.perStart +
    workerSeconds * LOG_BYTES.perWorkerSecond +
    tasksPerDay * 30 * LOG_BYTES.perTask;
  const { ofQueue, ofQueueInWaker, ofWaker } = ALARM_METRICS;
  const traces = [ticks, wakes, starts].reduce((sum, invocations) => sum + tracesOf(invocations), 0);
  return [
    ['calls of the scheduler', 'schedules', ticks],
    ['metrics', 'metrics', metricsSent(workload, activity)],
    ...when<Use>(alarms, ['alarms of the queue', 'alarms', ofQueue + ofQueueInWaker]),
    ...when<Use>(alarms, [ONCE_A_TABLE[0], 'alarms', ofWaker]),
    ...when<Use>(dashboard, [ONCE_A_TABLE[1], 'dashboards', 1]),
    ['logs', 'logs', bytes / 1e9],
    ...when<Use>(tracing, ['X-Ray traces', 'traces', traces]),
  ];
}

function metricsSent(workload: WatchedWorkload, { activeHours }: Activity): number {
  const { attemptsPerTask, refusedPerTask, timedNames } = workload;
  const { always, withTasks, perTimedName } = METRICS_SENT;
  const now = withTasks + (attemptsPerTask > 1 ? 1 : 0) + (refusedPerTask > 0 ? 1 : 0) + perTimedName * timedNames;
  return always + now * activeHours;
}

function tracesOf(invocations: number): number {
  const perSecond = invocations / SECONDS_PER_MONTH;
  const first = Math.min(1, perSecond);
  return (first + (perSecond - first) * SAMPLED_SHARE) * SECONDS_PER_MONTH;
}

function when<T>(condition: boolean, one: T): readonly T[] {
  return condition ? [one] : [];
}
