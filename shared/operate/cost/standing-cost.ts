/**
 * A queue's cost without its tasks: ticks, wakes, worker sessions, polls, lingering; and metrics, alarms, dashboard, logs, traces.
 *
 * `npm run bench -- idle` measures the read units of a tick, a wake and a start; a test compares them with these.
 * An empty query costs half a unit, as AWS charges. Bytes of logs are estimates.
 * CloudWatch bills a metric for the hours in which it is sent, and an alarm by the metrics that it reads:
 * `test/infra/alarms.full.test.ts` compares the counts with the stack and the handlers.
 */
import type { Use } from './prices.ts';
import { priceOf } from './prices.ts';
import type { VerbTable } from './units.ts';
import type { Workload } from './workload.ts';

/** A month of one kind of work. */
interface Month {
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly invocations: number;
  readonly gbSeconds: number;
}

export type Standing = Readonly<Record<StandingKind, Month>>;
export type StandingKind =
  | 'ticks'
  | 'wakes'
  | 'sessions and permits of workers'
  | 'heartbeats'
  | 'polls of workers'
  | 'lingering';

export interface WorkerDays {
  readonly startsPerDay: number;
  readonly workerSecondsPerDay: number;
}

export const SECONDS_PER_DAY = 86_400;
export const DAYS_PER_MONTH = 30;
const SECONDS_PER_MONTH = DAYS_PER_MONTH * SECONDS_PER_DAY;
/** An empty page of the index, eventually consistent. */
const READ_UNITS_PER_PAGE = 0.5;
/** Lanes: three priorities, with tenants and without. A poll of the backlog covers two more shards than are in use. */
const [LANES, SHARDS_BEYOND] = [6, 2];
/** Read units of a tick without the backlog: the queue's row, recurring tasks. */
const READ_UNITS_PER_TICK = 1.5;
/**
 * A wake reads the permits. One that starts a worker also reads an inserted row, the queue's row and the permits again; and the backlog, if
 * there are more tasks than one worker runs at once.
 * One that finds several tasks reads the rows of up to 25.
 */
const READ_UNITS_PER_WAKE = { glance: 1, start: 2.5, sampled: 0.5 };
const SAMPLED = 25;
/** A starting worker reads the permits, the queue's row, a task's row, and its shards until it finds nothing more. */
const READ_UNITS_PER_START = 5.5;
const SMALL_FUNCTION_MB = 256;
/** `perStart`: a worker's time without its tasks. */
export const SECONDS = { perTick: 0.2, perWake: { glance: 0.02, start: 0.2 }, perStart: 0.08 };
/** Lambda reads each shard of the stream this often, and delivers the gathered records together. */
const WAKES_PER_SECOND = 4;
/** Seconds between polls of a lingering worker. */
const SECONDS_PER_LOOK = 1.25;

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
const TRACED_SHARE = 0.05;
/** Lines of the bill that all queues of a table share. */
export const ONCE_A_TABLE = ['alarms of the waker, once a table', 'dashboard, once a table'] as const;

/** Assumes `wakeOnEnqueue`, which is on by default. */
export function standingCostOf(workload: Workload, verbs: VerbTable, days: WorkerDays): Standing {
  const { tasksPerDay, tickSeconds, shards, concurrency, heartbeatSeconds, memoryMb, lingerSeconds } = workload;
  const perBacklog = readUnitsOfBacklog(shards);
  const ticks = SECONDS_PER_MONTH / tickSeconds;
  const starts = days.startsPerDay * DAYS_PER_MONTH;
  const seldom = 1 - Math.exp(-tasksPerDay / SECONDS_PER_DAY / WAKES_PER_SECOND);
  const wakes = WAKES_PER_SECOND * seldom * SECONDS_PER_MONTH;
  const starting = Math.min(wakes, starts);
  const tasksPerStart = tasksPerDay / Math.max(1, days.startsPerDay);
  const sampled = Math.min(SAMPLED, Math.max(0, tasksPerStart - 1));
  const ofBacklog = tasksPerStart > concurrency ? perBacklog : 0;
  const perStart = [verbs.createSession, verbs.acquirePermit, verbs.releasePermit, verbs.endSession];
  const lingering = starts * lingerSeconds;
  const alive = days.workerSecondsPerDay * DAYS_PER_MONTH + lingering;
  const { glance, start, sampled: perSample } = READ_UNITS_PER_WAKE;
  const month = (used: Partial<Month>): Month => ({
    writeUnits: 0,
    readUnits: 0,
    invocations: 0,
    gbSeconds: 0,
    ...used,
  });
  const gb = (seconds: number, mb = SMALL_FUNCTION_MB): number => (seconds * mb) / 1024;
  return {
    ticks: month({
      writeUnits: ticks,
      readUnits: ticks * (perBacklog + READ_UNITS_PER_TICK),
      invocations: ticks,
      gbSeconds: gb(ticks * SECONDS.perTick),
    }),
    wakes: month({
      // The note of its start.
      writeUnits: starting,
      readUnits: wakes * glance + starting * (ofBacklog + start + sampled * perSample),
      invocations: wakes,
      gbSeconds: gb((wakes - starting) * SECONDS.perWake.glance + starting * SECONDS.perWake.start),
    }),
    'sessions and permits of workers': month({
      writeUnits: starts * perStart.reduce((sum, { total }) => sum + total, 0),
      invocations: starts,
      gbSeconds: gb(starts * SECONDS.perStart, memoryMb),
    }),
    heartbeats: month({ writeUnits: (alive / heartbeatSeconds) * verbs.heartbeat.total }),
    'polls of workers': month({ readUnits: starts * READ_UNITS_PER_START }),
    lingering: month({
      readUnits: (lingering * READ_UNITS_PER_PAGE) / SECONDS_PER_LOOK,
      gbSeconds: gb(lingering, memoryMb),
    }),
  };
}

/** A poll of all lanes, while they are empty. */
function readUnitsOfBacklog(shards: number): number {
  return LANES * (shards + SHARDS_BEYOND) * READ_UNITS_PER_PAGE;
}

/** The most of one wake: it starts workers, and has read as many rows of tasks, sampled tasks, keys and lines as it may. */
export function mostReadUnitsOfWake(shards: number): number {
  const { glance, start, sampled } = READ_UNITS_PER_WAKE;
  return glance + start + readUnitsOfBacklog(shards) + 4 * SAMPLED * sampled;
}

/** A month, in dollars. */
export function dollarsOf(month: Month, { architecture }: Pick<Workload, 'architecture'>): number {
  return (
    month.writeUnits * priceOf('writes') +
    month.readUnits * priceOf('reads') +
    month.invocations * priceOf('invocations') +
    month.gbSeconds * priceOf(architecture)
  );
}

/** The use of a table's first queue outside the table and the functions. */
export function watchingOf(
  workload: Workload,
  standing: Standing,
  { workerSecondsPerDay }: WorkerDays,
): readonly Use[] {
  const { tasksPerDay, attemptsPerTask, refusedPerTask, timedNames, alarms, dashboard, tracing } = workload;
  const invocations = Object.values(standing).map((month) => month.invocations);
  const [ticks, starts] = [standing.ticks.invocations, standing['sessions and permits of workers'].invocations];
  const { always, withTasks, perTimedName } = METRICS_SENT;
  const now = withTasks + Number(attemptsPerTask > 1) + Number(refusedPerTask > 0) + perTimedName * timedNames;
  // The share of hours with at least one task.
  const activeHours = 1 - Math.exp(-tasksPerDay / 24);
  const bytes =
    ticks * LOG_BYTES.perTick +
    starts * LOG_BYTES.perStart +
    workerSecondsPerDay * DAYS_PER_MONTH * LOG_BYTES.perWorkerSecond +
    tasksPerDay * DAYS_PER_MONTH * LOG_BYTES.perTask;
  const { ofQueue, ofQueueInWaker, ofWaker } = ALARM_METRICS;
  const uses: readonly (false | Use)[] = [
    ['calls of the scheduler', 'schedules', ticks],
    ['metrics', 'metrics', always + now * activeHours],
    alarms && ['alarms of the queue', 'alarms', ofQueue + ofQueueInWaker],
    alarms && [ONCE_A_TABLE[0], 'alarms', ofWaker],
    dashboard && [ONCE_A_TABLE[1], 'dashboards', 1],
    ['logs', 'logs', bytes / 1e9],
    tracing && ['X-Ray traces', 'traces', invocations.reduce((sum, count) => sum + tracesOf(count), 0)],
  ];
  return uses.filter((use) => use !== false);
}

function tracesOf(invocations: number): number {
  const perSecond = invocations / SECONDS_PER_MONTH;
  const first = Math.min(1, perSecond);
  return (first + (perSecond - first) * TRACED_SHARE) * SECONDS_PER_MONTH;
}
