/**
 * Estimates a queue's monthly cost, its size, and the first limit that it reaches: pure arithmetic.
 *
 * Assumptions: tasks arrive evenly (`peakFactor` says how many more arrive at the busiest time),
 * workers are busy for `utilisation` of their time,
 * and a poll of the backlog costs what `npm run bench -- queue` measures. Each sum is given before and after the account's free tier.
 */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import { valueSizeBytes } from '../../dynamo/engine/capacity.ts';
import { storedText } from '../../dynamo/engine/stored-json.ts';
import type { Alternative } from './beside.ts';
import { besideOthers } from './beside.ts';
import type { Burst } from './burst.ts';
import { burstOf } from './burst.ts';
import type { Architecture, Part, Prices, Sum, Use } from './prices.ts';
import { bill, sumOf } from './prices.ts';
import type { Standing, WorkerDays } from './standing-cost.ts';
import { DAYS_PER_MONTH, SECONDS_PER_DAY, dollarsOf, standingOf } from './standing-cost.ts';
import type { TaskUnits } from './task-units.ts';
import { taskUnits } from './task-units.ts';
import type { VerbTable } from './verbs.ts';
import { verbTable } from './verbs.ts';
import type { Activity } from './watching.ts';
import { ONCE_A_TABLE, watchingOf } from './watching.ts';
import type { Workload } from './workload.ts';
import { validateWorkload } from './workload.ts';

/** Measures an example of an input. */
export function sizeOfJson(input: unknown): Pick<Workload, 'inputBytes' | 'deflatedShare'> {
  const text = JSON.stringify(input);
  const inputBytes = utf8Bytes(text);
  return { inputBytes, deflatedShare: valueSizeBytes(storedText(text, 0)) / inputBytes };
}

interface Limit {
  readonly what: string;
  /** Tasks a day at which the limit is reached, with the same peaks. */
  readonly atTasksPerDay: number;
  /** Used share of the limit. Above 1, the workload does not fit. */
  readonly used: number;
  /** How to raise the limit. */
  readonly remedy: string;
}

export interface Estimate {
  readonly workload: Workload;
  readonly verbs: VerbTable;
  readonly writeUnitsPerTask: number;
  readonly readUnitsPerTask: number;
  /** Everything that is billed for the first queue of a table, one line each. */
  readonly parts: readonly Part[];
  readonly dollarsPerMonth: number;
  readonly dollarsPerMonthAfterFree: number;
  readonly dollarsPerMillionTasks: number;
  readonly tasksPerSecondAtPeak: number;
  readonly tasksInFlightAtPeak: number;
  readonly workersAtPeak: number;
  readonly shardsNeeded: number;
  /** The monthly cost of a queue without tasks, including everything that is billed for it. */
  readonly idle: Idle;
  /** The same tasks on other services. */
  readonly beside: readonly Alternative[];
  readonly burst: Burst;
  /** The queue's cost without its tasks and their compute: with this many tasks, with one task a minute, and empty. */
  readonly standing: Readonly<Record<StandingLoad, StandingCost>>;
  /** Limits, the nearest first. */
  readonly limits: readonly Limit[];
}

interface Idle {
  /** Without the dashboard. */
  readonly first: Sum;
  /** Each further queue of the table, without the waker's alarms and without the free tier. */
  readonly further: Pick<Sum, 'dollars'>;
  /** Total for all queues of the table. */
  readonly dashboard: Sum;
}

type StandingLoad = 'empty' | 'trickle' | 'asGiven';

interface StandingCost {
  readonly tasksPerDay: number;
  /** A month each. */
  readonly dollars: Readonly<Record<Standing['what'], number>>;
  readonly dollarsPerMonth: number;
}

const TRICKLE_PER_DAY = 1_440;
const HOURS_PER_DAY = 24;
/** A worker hands back before Lambda's quarter of an hour is over. */
const INVOCATION_SECONDS = 890;
/** Half a unit for the row, including reads that find nothing, and a hundredth for its index entry: measured. */
const READ_UNITS_PER_CLAIM = 0.6;

const PARTITION_WRITE_UNITS_PER_SECOND = 1_000;
/** A partition that is planned at full capacity would sometimes be throttled. */
const PARTITION_HEADROOM = 0.7;
const NEW_TABLE_WRITE_UNITS_PER_SECOND = 4_000;
const TABLE_WRITE_UNITS_PER_SECOND = 40_000;
const LAMBDA_CONCURRENCY = 1_000;

/** @throws ConfigurationError naming the invalid figure */
export function estimateCost(workload: Workload, prices: Prices): Estimate {
  validateWorkload(workload);
  const verbs = verbTable(workload);
  const flow = flowOf(workload);
  const standingAt = (tasksPerDay: number): StandingCost => {
    const load = { ...workload, tasksPerDay };
    const each = standingOf(load, verbs, flowOf(load));
    const dollars = each.map((one) => [one.what, dollarsOf(one, prices, workload)] as const);
    return {
      tasksPerDay,
      dollars: Object.fromEntries(dollars) as StandingCost['dollars'],
      dollarsPerMonth: dollars.reduce((sum, [, some]) => sum + some, 0),
    };
  };
  const task = taskUnits(workload, verbs);
  const readUnitsPerTask = READ_UNITS_PER_CLAIM * task.claims + verbs.payloadReadUnits * workload.attemptsPerTask;
  const parts = partsOf({ workload, verbs, flow, prices, task, readUnitsPerTask });
  const { dollars: dollarsPerMonth, dollarsAfterFree: dollarsPerMonthAfterFree } = sumOf(parts);
  const tasksPerMonth = workload.tasksPerDay * DAYS_PER_MONTH;
  return {
    workload,
    verbs,
    writeUnitsPerTask: task.total,
    readUnitsPerTask,
    parts,
    dollarsPerMonth,
    dollarsPerMonthAfterFree,
    dollarsPerMillionTasks: (dollarsPerMonth / tasksPerMonth) * 1e6,
    tasksPerSecondAtPeak: flow.tasksPerSecond,
    tasksInFlightAtPeak: flow.inFlight,
    workersAtPeak: flow.workers,
    shardsNeeded: Math.max(
      1,
      Math.ceil((flow.tasksPerSecond * task.readyIndex) / (PARTITION_WRITE_UNITS_PER_SECOND * PARTITION_HEADROOM)),
    ),
    idle: idleOf(workload, verbs, prices),
    beside: besideOthers(tasksPerMonth, workload, prices),
    burst: burstOf(workload, verbs, prices),
    standing: {
      empty: standingAt(0),
      trickle: standingAt(TRICKLE_PER_DAY),
      asGiven: standingAt(workload.tasksPerDay),
    },
    limits: limitsOf(workload, task, flow),
  };
}

interface Flow extends WorkerDays {
  readonly tasksPerSecond: number;
  readonly inFlight: number;
  readonly workers: number;
}

function flowOf(workload: Workload): Flow {
  const { tasksPerDay, attemptsPerTask, secondsPerTask, peakFactor, concurrency, utilisation, lingerSeconds } =
    workload;
  const perSecond = tasksPerDay / SECONDS_PER_DAY;
  const tasksPerSecond = perSecond * peakFactor;
  // Little's law.
  const inFlight = tasksPerSecond * attemptsPerTask * secondsPerTask;
  const workerSecondsPerDay = (tasksPerDay * attemptsPerTask * secondsPerTask) / (concurrency * utilisation);
  // A task that arrives without a live worker starts one: no other task arrived within the run time and linger time.
  const aloneShare = Math.exp(-perSecond * (secondsPerTask * attemptsPerTask + lingerSeconds));
  return {
    tasksPerSecond,
    inFlight,
    workerSecondsPerDay,
    workers: Math.max(1, Math.ceil(inFlight / (concurrency * utilisation))),
    // With rare tasks, each task starts a worker. With steady work, workers end at Lambda's time limit and start again.
    startsPerDay: Math.max(workerSecondsPerDay / INVOCATION_SECONDS, tasksPerDay * aloneShare),
  };
}

function partsOf(known: {
  readonly workload: Workload;
  readonly verbs: VerbTable;
  readonly flow: Flow;
  readonly prices: Prices;
  readonly task: TaskUnits;
  readonly readUnitsPerTask: number;
}): readonly Part[] {
  const { workload, verbs, flow, prices, task } = known;
  const { tasksPerDay, memoryMb, architecture, retentionDays } = workload;
  const tasks = tasksPerDay * DAYS_PER_MONTH;
  const standing = standingOf(workload, verbs, flow);
  const workerGbSeconds = (flow.workerSecondsPerDay * DAYS_PER_MONTH * memoryMb) / 1024;
  const storedGb = (tasksPerDay * retentionDays * task.storedBytes) / 1e9;
  const uses: readonly Use[] = [
    ['tasks: enqueue, claim, complete', 'writes', tasks * task.total],
    ['polls for tasks', 'reads', tasks * known.readUnitsPerTask],
    ...usesOf(standing, architecture),
    [`rows kept for ${retentionDays} days`, 'storage', storedGb],
    ['their backups', 'backups', storedGb],
    ['invocations', 'invocations', invocationsOf(standing)],
    [`compute of workers, ${memoryMb} MB ${architecture}`, architecture, workerGbSeconds],
    ...watchingOf(workload, activityOf(workload, flow, standing)),
  ];
  return bill(uses, prices);
}

function usesOf(standing: readonly Standing[], architecture: Architecture): readonly Use[] {
  return standing.flatMap(({ what, writeUnits, readUnits, gbSeconds }): Use[] => [
    ...(writeUnits > 0 ? [[what, 'writes', writeUnits] as const] : []),
    ...(readUnits > 0
      ? [[writeUnits > 0 || gbSeconds > 0 ? `${what}: polls` : what, 'reads', readUnits] as const]
      : []),
    ...(gbSeconds > 0 ? [[`${what}: compute`, architecture, gbSeconds] as const] : []),
  ]);
}

function invocationsOf(standing: readonly Standing[]): number {
  return standing.reduce((sum, one) => sum + one.invocations, 0);
}

function activityOf(
  { tasksPerDay }: Workload,
  { workerSecondsPerDay }: WorkerDays,
  standing: readonly Standing[],
): Activity {
  const invocations = (of: Standing['what']): number => standing.find(({ what }) => what === of)?.invocations ?? 0;
  return {
    ticks: invocations('ticks'),
    wakes: invocations('wakes'),
    starts: invocations('sessions and permits of workers'),
    workerSeconds: workerSecondsPerDay * DAYS_PER_MONTH,
    activeHours: 1 - Math.exp(-tasksPerDay / HOURS_PER_DAY),
  };
}

function idleOf(workload: Workload, verbs: VerbTable, prices: Prices): Idle {
  const load = { ...workload, tasksPerDay: 0 };
  const flow = flowOf(load);
  const standing = standingOf(load, verbs, flow);
  const uses: readonly Use[] = [
    ...usesOf(standing, workload.architecture),
    ['invocations', 'invocations', invocationsOf(standing)],
    ...watchingOf(load, activityOf(load, flow, standing)),
  ];
  const isOfTable = ({ what }: Part): boolean => ONCE_A_TABLE.some((one) => one === what);
  const parts = bill(uses, prices);
  const dashboard = parts.filter(({ by }) => by === 'dashboards');
  return {
    first: sumOf(parts.filter((part) => !dashboard.includes(part))),
    further: { dollars: sumOf(parts.filter((part) => !isOfTable(part))).dollars },
    dashboard: sumOf(dashboard),
  };
}

function limitsOf(workload: Workload, task: TaskUnits, flow: Flow): readonly Limit[] {
  const { shards, maxWorkers, concurrency, utilisation, tasksPerDay } = workload;
  const unitsPerSecond = flow.tasksPerSecond * task.total;
  const places = concurrency * utilisation;
  const limit = (what: string, used: number, remedy: string): Limit => ({
    what,
    used,
    atTasksPerDay: tasksPerDay / used,
    remedy,
  });
  return [
    limit(
      `maxWorkers = ${maxWorkers}`,
      flow.inFlight / (maxWorkers * places),
      'raise maxWorkers, or the tasks at work in each',
    ),
    limit(
      `${shards} shards of the ready index, ${PARTITION_WRITE_UNITS_PER_SECOND} write units a second each`,
      (flow.tasksPerSecond * task.readyIndex) / (shards * PARTITION_WRITE_UNITS_PER_SECOND),
      'raise shards, for dispatcher, workers and clients alike',
    ),
    limit(
      `a new table's first ${NEW_TABLE_WRITE_UNITS_PER_SECOND} write units a second`,
      unitsPerSecond / NEW_TABLE_WRITE_UNITS_PER_SECOND,
      'warm the table up, or let it double every half hour',
    ),
    limit(
      `the account's ${TABLE_WRITE_UNITS_PER_SECOND} write units a second and table`,
      (flow.tasksPerSecond * task.table) / TABLE_WRITE_UNITS_PER_SECOND,
      'ask AWS for a larger quota, or give queues tables of their own',
    ),
    limit(
      `Lambda's ${LAMBDA_CONCURRENCY} invocations at once`,
      flow.inFlight / (LAMBDA_CONCURRENCY * places),
      'ask AWS for a larger quota, or raise the tasks at work in each worker',
    ),
  ].sort((one, other) => other.used - one.used);
}
