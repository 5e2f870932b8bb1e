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
import { wantedWorkers } from '../../tasks/dispatch/plan.ts';
import type { Part, Sum, Use } from './prices.ts';
import { bill, sumOf } from './prices.ts';
import type { Standing, StandingKind, WorkerDays } from './standing-cost.ts';
import { DAYS_PER_MONTH, ONCE_A_TABLE, SECONDS, SECONDS_PER_DAY } from './standing-cost.ts';
import { dollarsOf, standingCostOf, watchingOf } from './standing-cost.ts';
import type { VerbTable } from './units.ts';
import { taskUnits, verbTable } from './units.ts';
import type { Workload } from './workload.ts';
import { validateWorkload } from './workload.ts';

/** Measures an example of an input. */
export function sizeOfJson(input: unknown): Pick<Workload, 'inputBytes' | 'deflatedShare'> {
  const text = JSON.stringify(input);
  const inputBytes = utf8Bytes(text);
  return { inputBytes, deflatedShare: valueSizeBytes(storedText(text, 0)) / inputBytes };
}

export type Estimate = ReturnType<typeof estimateOf>;

const TRICKLE_PER_DAY = 1_440;
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
export function estimateCost(workload: Workload): Estimate {
  validateWorkload(workload);
  return estimateOf(workload);
}

function estimateOf(workload: Workload) {
  const verbs = verbTable(workload);
  const flow = flowOf(workload);
  const task = taskUnits(workload, verbs);
  const readUnitsPerTask = (READ_UNITS_PER_CLAIM + verbs.payloadReadUnits) * workload.attemptsPerTask;
  const tasks = workload.tasksPerDay * DAYS_PER_MONTH;
  const standing = standingCostOf(workload, verbs, flow);
  const { memoryMb, architecture, retentionDays } = workload;
  const storedGb = (workload.tasksPerDay * retentionDays * verbs.storedBytes) / 1e9;
  const workerGbSeconds = (flow.workerSecondsPerDay * DAYS_PER_MONTH * memoryMb) / 1024;
  /** Everything that is billed for the first queue of a table, one line each. */
  const parts = bill([
    ['tasks: enqueue, claim, complete', 'writes', tasks * task.total],
    ['polls for tasks', 'reads', tasks * readUnitsPerTask],
    ...usesOf(standing, workload),
    [`rows kept for ${retentionDays} days`, 'storage', storedGb],
    ['their backups', 'backups', storedGb],
    ['invocations', 'invocations', invocationsOf(standing)],
    [`compute of workers, ${memoryMb} MB ${architecture}`, architecture, workerGbSeconds],
    ...watchingOf(workload, standing, flow),
  ]);
  const { dollars: dollarsPerMonth, dollarsAfterFree: dollarsPerMonthAfterFree } = sumOf(parts);
  const perPartition = PARTITION_WRITE_UNITS_PER_SECOND * PARTITION_HEADROOM;
  return {
    workload,
    verbs,
    writeUnitsPerTask: task.total,
    readUnitsPerTask,
    parts,
    dollarsPerMonth,
    dollarsPerMonthAfterFree,
    dollarsPerMillionTasks: (dollarsPerMonth / tasks) * 1e6,
    tasksPerSecondAtPeak: flow.tasksPerSecond,
    tasksInFlightAtPeak: flow.inFlight,
    workersAtPeak: flow.workers,
    shardsNeeded: Math.max(1, Math.ceil((flow.tasksPerSecond * task.readyIndex) / perPartition)),
    /** The monthly cost of a queue without tasks, including everything that is billed for it. */
    idle: idleOf({ ...workload, tasksPerDay: 0 }, verbs),
    /** The same tasks on other services. */
    alternatives: alternativesTo(tasks, workload),
    burst: burstOf(workload, verbs),
    /** The queue's cost without its tasks and their compute: with this many tasks, with one task a minute, and empty. */
    standing: {
      empty: standingCost({ ...workload, tasksPerDay: 0 }, verbs),
      trickle: standingCost({ ...workload, tasksPerDay: TRICKLE_PER_DAY }, verbs),
      asGiven: standingCost(workload, verbs),
    },
    /** Limits, the nearest first. */
    limits: limitsOf(workload, task, flow),
  };
}

interface Flow extends WorkerDays {
  readonly tasksPerSecond: number;
  readonly inFlight: number;
  readonly workers: number;
}

function flowOf(workload: Workload): Flow {
  const { tasksPerDay, attemptsPerTask, secondsPerTask, concurrency, utilisation } = workload;
  const perSecond = tasksPerDay / SECONDS_PER_DAY;
  const tasksPerSecond = perSecond * workload.peakFactor;
  // Little's law.
  const inFlight = tasksPerSecond * attemptsPerTask * secondsPerTask;
  const workerSecondsPerDay = (tasksPerDay * attemptsPerTask * secondsPerTask) / (concurrency * utilisation);
  // A task that arrives without a live worker starts one: no other task arrived within the run time and linger time.
  const aloneShare = Math.exp(-perSecond * (secondsPerTask * attemptsPerTask + workload.lingerSeconds));
  return {
    tasksPerSecond,
    inFlight,
    workerSecondsPerDay,
    workers: Math.max(1, Math.ceil(inFlight / (concurrency * utilisation))),
    // With rare tasks, each task starts a worker. With steady work, workers end at Lambda's time limit and start again.
    startsPerDay: Math.max(workerSecondsPerDay / INVOCATION_SECONDS, tasksPerDay * aloneShare),
  };
}

function usesOf(standing: Standing, { architecture }: Workload): readonly Use[] {
  return Object.entries(standing).flatMap(([what, { writeUnits, readUnits, gbSeconds }]): Use[] => {
    const polls = writeUnits > 0 || gbSeconds > 0 ? `${what}: polls` : what;
    const uses: readonly Use[] = [
      [what, 'writes', writeUnits],
      [polls, 'reads', readUnits],
      [`${what}: compute`, architecture, gbSeconds],
    ];
    return uses.filter(([, , amount]) => amount > 0);
  });
}

function invocationsOf(standing: Standing): number {
  return Object.values(standing).reduce((sum, { invocations }) => sum + invocations, 0);
}

function standingCost(workload: Workload, verbs: VerbTable) {
  const months = Object.entries(standingCostOf(workload, verbs, flowOf(workload)));
  const each = months.map(([what, month]) => [what, dollarsOf(month, workload)] as const);
  return {
    tasksPerDay: workload.tasksPerDay,
    /** A month each. */
    dollars: Object.fromEntries(each) as Readonly<Record<StandingKind, number>>,
    dollarsPerMonth: each.reduce((sum, [, some]) => sum + some, 0),
  };
}

function idleOf(load: Workload, verbs: VerbTable) {
  const flow = flowOf(load);
  const standing = standingCostOf(load, verbs, flow);
  const parts = bill([
    ...usesOf(standing, load),
    ['invocations', 'invocations', invocationsOf(standing)],
    ...watchingOf(load, standing, flow),
  ]);
  const isOfTable = ({ what }: Part): boolean => ONCE_A_TABLE.some((one) => one === what);
  const isDashboard = ({ by }: Part): boolean => by === 'dashboards';
  return {
    /** Without the dashboard. */
    first: sumOf(parts.filter((part) => !isDashboard(part))),
    /** Each further queue of the table, without the waker's alarms and without the free tier. */
    further: { dollars: sumOf(parts.filter((part) => !isOfTable(part))).dollars },
    /** Total for all queues of the table. */
    dashboard: sumOf(parts.filter(isDashboard)),
  };
}

/** The largest batch that Lambda takes from a standard queue without waiting for more. */
const BATCH = 10;
/** Express bills memory in steps of 64 MB. */
const EXPRESS_GB = 64 / 1024;

/**
 * The cost of as many tasks on other AWS services: their requests and compute, without logs and alarms. It does not compare guarantees.
 * A task is one message or one execution, and an attempt is one more. Its payload fits into 64 KB.
 */
function alternativesTo(tasks: number, workload: Workload): readonly ({ readonly what: string } & Sum)[] {
  const { secondsPerTask, memoryMb, architecture, utilisation } = workload;
  const attempts = tasks * workload.attemptsPerTask;
  const lambda = (perInvocation: number, busyShare: number): readonly Use[] => [
    ['invocations', 'invocations', attempts / perInvocation],
    ['compute', architecture, (attempts * secondsPerTask * memoryMb) / 1024 / perInvocation / busyShare],
  ];
  const one = (what: string, uses: readonly Use[]) => ({ what, ...sumOf(bill(uses)) });
  return [
    one(`SQS and Lambda, ${BATCH} messages side by side in an invocation`, [
      ['requests', 'messages', tasks + (2 * attempts) / BATCH],
      ...lambda(BATCH, utilisation),
    ]),
    // Send, receive, delete.
    one('SQS and Lambda, a message an invocation', [['requests', 'messages', tasks + 2 * attempts], ...lambda(1, 1)]),
    one('Step Functions Express and Lambda', [
      ['requests', 'expressRequests', tasks],
      ['duration', 'expressCompute', attempts * secondsPerTask * EXPRESS_GB],
      ...lambda(1, 1),
    ]),
    // The task's own transition, and the end.
    one('Step Functions Standard and Lambda', [['transitions', 'transitions', attempts * 2], ...lambda(1, 1)]),
  ];
}

/**
 * How many workers start for a burst of tasks, by the planning rule of ticks and wakes, and what they cost: compute, invocations, sessions
 * and permits. Assumes that the queue knows how long its tasks take, and that no worker is running.
 */
function burstOf(workload: Workload, verbs: VerbTable) {
  const { burstTasks: tasks, startWithinSeconds, secondsPerTask, concurrency, maxWorkers } = workload;
  const limits = { maxWorkers, concurrency, startWithinMs: startWithinSeconds * 1000 };
  const { workers, missing } = wantedWorkers({ due: tasks, late: 0, tookMs: secondsPerTask * 1000 }, 0, limits);
  const rounds = Math.ceil(tasks / Math.max(1, workers * concurrency));
  const billedSeconds = workers * (rounds * secondsPerTask + SECONDS.perStart);
  const { createSession, acquirePermit, releasePermit, endSession } = verbs;
  return {
    tasks,
    workers,
    /** How many more workers would start without the limit of `maxWorkers`. */
    missing,
    /** After the workers have started. */
    lastBeginsAfterSeconds: Math.max(0, rounds - 1) * secondsPerTask,
    dollars: dollarsOf(
      {
        writeUnits: workers * (createSession.total + acquirePermit.total + releasePermit.total + endSession.total),
        readUnits: 0,
        invocations: workers,
        gbSeconds: (billedSeconds * workload.memoryMb) / 1024,
      },
      workload,
    ),
  };
}

function limitsOf(workload: Workload, task: ReturnType<typeof taskUnits>, { tasksPerSecond, inFlight }: Flow) {
  const { shards, maxWorkers, tasksPerDay } = workload;
  const places = workload.concurrency * workload.utilisation;
  const limits: readonly (readonly [what: string, used: number, remedy: string])[] = [
    [`maxWorkers = ${maxWorkers}`, inFlight / (maxWorkers * places), 'raise maxWorkers, or the tasks at work in each'],
    [
      `${shards} shards of the ready index, ${PARTITION_WRITE_UNITS_PER_SECOND} write units a second each`,
      (tasksPerSecond * task.readyIndex) / (shards * PARTITION_WRITE_UNITS_PER_SECOND),
      'raise shards, for dispatcher, workers and clients alike',
    ],
    [
      `a new table's first ${NEW_TABLE_WRITE_UNITS_PER_SECOND} write units a second`,
      (tasksPerSecond * task.total) / NEW_TABLE_WRITE_UNITS_PER_SECOND,
      'warm the table up, or let it double every half hour',
    ],
    [
      `the account's ${TABLE_WRITE_UNITS_PER_SECOND} write units a second and table`,
      (tasksPerSecond * task.table) / TABLE_WRITE_UNITS_PER_SECOND,
      'ask AWS for a larger quota, or give queues tables of their own',
    ],
    [
      `Lambda's ${LAMBDA_CONCURRENCY} invocations at once`,
      inFlight / (LAMBDA_CONCURRENCY * places),
      'ask AWS for a larger quota, or raise the tasks at work in each worker',
    ],
  ];
  return limits
    .map(([what, used, remedy]) => ({ what, used, atTasksPerDay: tasksPerDay / used, remedy }))
    .sort((one, other) => other.used - one.used);
}
