/**
 * A queue's cost without its tasks: ticks, wakes, worker sessions, polls, and lingering.
 *
 * `npm run bench -- idle` measures the read units of a tick, a wake and a start; a test compares them with these.
 * An empty query costs half a unit, as AWS charges.
 */
import type { Architecture, Prices } from './prices.ts';
import { priceOf } from './prices.ts';
import type { VerbTable } from './verbs.ts';
import type { Workload } from './workload.ts';

/** A month of one kind of work. */
export interface Standing {
  readonly what:
    | 'ticks'
    | 'wakes'
    | 'sessions and permits of workers'
    | 'heartbeats'
    | 'polls of workers'
    | 'lingering';
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly invocations: number;
  readonly gbSeconds: number;
}

/** Inputs of the standing cost. */
export type StandingWorkload = Pick<
  Workload,
  'tasksPerDay' | 'tickSeconds' | 'shards' | 'heartbeatSeconds' | 'memoryMb' | 'lingerSeconds'
>;

export interface WorkerDays {
  readonly startsPerDay: number;
  readonly workerSecondsPerDay: number;
}

export const SECONDS_PER_DAY = 86_400;
export const DAYS_PER_MONTH = 30;
/** An empty page of the index, eventually consistent. */
const READ_UNITS_PER_PAGE = 0.5;
/** Lanes: three priorities, with tenants and without. A poll of the backlog covers two more shards than are in use. */
const LANES = 6;
const SHARDS_BEYOND = 2;
/** Read units of a tick without the backlog: the queue's row, recurring tasks. */
const READ_UNITS_PER_TICK = 1.5;
/**
 * A wake reads the permits. One that starts a worker also reads the backlog, an inserted row, the queue's row and the permits again.
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

/** Assumes `wakeOnEnqueue`, which is on by default. */
export function standingOf(
  workload: StandingWorkload,
  { createSession, acquirePermit, releasePermit, endSession, heartbeat }: VerbTable,
  { startsPerDay, workerSecondsPerDay }: WorkerDays,
): readonly Standing[] {
  const { tasksPerDay, tickSeconds, shards, heartbeatSeconds, memoryMb, lingerSeconds } = workload;
  const perBacklog = readUnitsOfBacklog(shards);
  const ticks = (SECONDS_PER_DAY / tickSeconds) * DAYS_PER_MONTH;
  const starts = startsPerDay * DAYS_PER_MONTH;
  const wakes =
    WAKES_PER_SECOND *
    (1 - Math.exp(-tasksPerDay / SECONDS_PER_DAY / WAKES_PER_SECOND)) *
    SECONDS_PER_DAY *
    DAYS_PER_MONTH;
  const lingering = starts * lingerSeconds;
  const alive = workerSecondsPerDay * DAYS_PER_MONTH + lingering;
  const perStart = createSession.total + acquirePermit.total + releasePermit.total + endSession.total;
  const gb = (seconds: number, mb = SMALL_FUNCTION_MB): number => (seconds * mb) / 1024;
  const one = (what: Standing['what'], used: Partial<Standing>): Standing => ({
    what,
    writeUnits: 0,
    readUnits: 0,
    invocations: 0,
    gbSeconds: 0,
    ...used,
  });
  const startingWakes = Math.min(wakes, starts);
  const sampled = Math.min(SAMPLED, Math.max(0, tasksPerDay / Math.max(1, startsPerDay) - 1));
  return [
    one('ticks', {
      writeUnits: ticks,
      readUnits: ticks * (perBacklog + READ_UNITS_PER_TICK),
      invocations: ticks,
      gbSeconds: gb(ticks * SECONDS.perTick),
    }),
    one('wakes', {
      readUnits:
        wakes * READ_UNITS_PER_WAKE.glance +
        startingWakes * (perBacklog + READ_UNITS_PER_WAKE.start + sampled * READ_UNITS_PER_WAKE.sampled),
      invocations: wakes,
      gbSeconds: gb((wakes - startingWakes) * SECONDS.perWake.glance + startingWakes * SECONDS.perWake.start),
    }),
    one('sessions and permits of workers', {
      writeUnits: starts * perStart,
      invocations: starts,
      gbSeconds: gb(starts * SECONDS.perStart, memoryMb),
    }),
    one('heartbeats', { writeUnits: (alive / heartbeatSeconds) * heartbeat.total }),
    one('polls of workers', { readUnits: starts * READ_UNITS_PER_START }),
    one('lingering', {
      readUnits: (lingering * READ_UNITS_PER_PAGE) / SECONDS_PER_LOOK,
      gbSeconds: gb(lingering, memoryMb),
    }),
  ];
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
export function dollarsOf(
  { writeUnits, readUnits, invocations, gbSeconds }: Omit<Standing, 'what'>,
  prices: Prices,
  { architecture }: { readonly architecture: Architecture },
): number {
  return (
    writeUnits * priceOf(prices, 'writes') +
    readUnits * priceOf(prices, 'reads') +
    invocations * priceOf(prices, 'invocations') +
    gbSeconds * priceOf(prices, architecture)
  );
}
