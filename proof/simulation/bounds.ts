/**
 * The bounds of the simulator's rules, as formulas of the settings.
 * At the defaults they give figures of `docs/timing.md`, and read units of `leasehold cost`: `test/docs/timing.test.ts` compares them.
 *
 * The world `knobs` makes constants of the product smaller. A bound changes with them, unless it names the shipped value.
 */
import { PAUSES as LOCK_PAUSES } from '../../shared/coordination/lock/session-locks.ts';
import { PAUSES as PERMIT_PAUSES } from '../../shared/coordination/semaphore/acquire.ts';
import { POLL_MS } from '../../shared/client/run-with-schedules.ts';
import { longestHeartbeatMs } from '../../shared/core/lease/timing.ts';
import { mostReadUnitsOfWake } from '../../shared/operate/cost/standing-cost.ts';
import { SHOWS_WITHIN_MS } from '../../shared/tasks/dispatch/pending-starts.ts';
import { INDEX_LAG_MS } from '../../shared/tasks/dispatch/heard-tasks.ts';
import {
  CLAIMS_PER_LOSS,
  HELD_RECHECK_MS,
  IDLE_AFTER_MS,
  PAGE_ENTRIES,
  PLAIN_PER_GROUP,
} from '../../shared/tasks/picker/tuning.ts';
import { QUANTUM } from '../../shared/tasks/task/group-walk.ts';
import { FRESH_MS as QUEUE_FRESH_MS } from '../../shared/tasks/worker/queue-state.ts';

/** Read before any world sets them: smaller pages and samples make a worker read more often, not sooner. */
const SHIPPED = { claimsPerLoss: CLAIMS_PER_LOSS, helped: QUANTUM, page: PAGE_ENTRIES } as const;

/** For a poll that is a quarter late. */
const MOST_JITTER = 5 / 4;

/** Time between two samples of the rules about waits. */
export const SAMPLE_EVERY_MS = 5_000;

interface Lease {
  readonly ttlMs: number;
  readonly maxClockSkewMs: number;
}

/** Counted from the last heartbeat of a crashed holder, for locks, permits and tasks. */
export function freeAfterCrashMs({
  ttlMs,
  maxClockSkewMs,
  lockDelayMs,
}: Lease & { readonly lockDelayMs: number }): number {
  return ttlMs + maxClockSkewMs + (lockDelayMs === 0 ? 0 : lockDelayMs + maxClockSkewMs);
}

/** The longest time between two polls of one waiter. */
export const LONGEST_PAUSE_MS = {
  lock: LOCK_PAUSES.longestMs + LOCK_PAUSES.spreadMs,
  permit: PERMIT_PAUSES.longestMs + PERMIT_PAUSES.spreadMs,
} as const;

/** The longest time between two reads of the oldest entries of a shard by a worker that serves it. */
export const looksApartMs = longestHeartbeatMs;

/** L13: until a waiter has something free; unless it is alone, a waiter before it may have to expire first. */
export function servedMs(
  kind: keyof typeof LONGEST_PAUSE_MS,
  { ttlMs, maxClockSkewMs }: Lease,
  isAlone: boolean,
): number {
  return LONGEST_PAUSE_MS[kind] + SAMPLE_EVERY_MS + (isAlone ? 0 : ttlMs + maxClockSkewMs);
}

/** L10: how long a task of any lane waits while a worker has a free slot: two polls of a lane that nobody names. */
export const STARVING_MS = 2 * IDLE_AFTER_MS;

/**
 * L10: the same beside a lone worker, in a lane that the queue's row names. First a crashed worker's session expires, a tick starts the next
 * worker, and that one reads the queue's row twice. Then it looks twice.
 */
export function starvingAloneMs({ ttlMs, maxClockSkewMs, tickMs }: Lease & { readonly tickMs: number }): number {
  const crash = ttlMs + 2 * maxClockSkewMs;
  return crash + tickMs + 2 * QUEUE_FRESH_MS + 2 * looksApartMs(ttlMs) + SAMPLE_EVERY_MS;
}

/**
 * L10: the same beside workers that only poll, in lanes of normal tasks: a tick of the world starts a worker, and one that has found nothing
 * for a minute polls for the first task of a group.
 */
export function polledMs({ shards, tickMs }: { readonly shards: number; readonly tickMs: number }): number {
  return tickMs + MOST_JITTER * PLAIN_PER_GROUP * shards * POLL_MS.idle + SAMPLE_EVERY_MS;
}

/** L11 and L12: until a session has settled its unresolved requests. Each of two heartbeats writes for a TTL at most. */
export function settledMs({ ttlMs }: Pick<Lease, 'ttlMs'>): number {
  return 2 * ttlMs + 2 * SAMPLE_EVERY_MS;
}

/** L14: until a place without a caller is gone: its session settles it, or expires, and another caller looks. */
export function placeLeftMs({ ttlMs, maxClockSkewMs }: Lease): number {
  return settledMs({ ttlMs }) + ttlMs + 2 * maxClockSkewMs + LONGEST_PAUSE_MS.permit + SAMPLE_EVERY_MS;
}

/** A worker's start shows within this time; the index shows its tasks after a lag. */
const STARTING_MS = SHOWS_WITHIN_MS + INDEX_LAG_MS;

/** W2: until a due task has a worker. */
export function startedMs(tickMs: number, startWithinMs: number): number {
  return tickMs + startWithinMs + STARTING_MS + SAMPLE_EVERY_MS;
}

/** W2: beside one live worker with a free slot. The last sample may have come a moment after the task. */
export function besideMs({ ttlMs }: Pick<Lease, 'ttlMs'>): number {
  return 2 * looksApartMs(ttlMs) + SAMPLE_EVERY_MS;
}

export const REFUSED_WINDOW_MS = 60_000;

/** L16: claims of one process that are refused in the window: two of each time after which a task is read again. */
export function refusedClaims(granted: number): number {
  return 2 * (REFUSED_WINDOW_MS / HELD_RECHECK_MS) + 2 * granted;
}

/** LOAD: the most that one wake reads, by `leasehold cost`, and the session of each worker. */
export function unitsOfWake({ shards, workers }: { readonly shards: number; readonly workers: number }): number {
  return mostReadUnitsOfWake(shards) + workers / 2;
}

interface Workers {
  /** The most that run at once. */
  readonly workers: number;
  readonly concurrency: number;
  readonly workersStay?: boolean | undefined;
}

/**
 * CROWD: claims that workers lose to each other. A worker chooses a slice when it has lost one of `CLAIMS_PER_LOSS` claims, and once more
 * if others chose the same slice.
 * Long-lived workers without other work all try each of a few tasks that follow each other, and one wins.
 */
export function lostClaims({ workers, workersStay = false }: Workers, won: number): number {
  const perWon = workersStay ? (workers - 1) / workers : 1 / SHIPPED.claimsPerLoss;
  return 2 * SHIPPED.claimsPerLoss * workers + perWon * won;
}

/**
 * LATE: later tasks that one process begins before the task of a crashed worker: its slots twice, and one read of foreign rows.
 * A foreign shard without workers gives a page, in random order.
 */
export function passedBy({ concurrency, shards }: Pick<Workers, 'concurrency'> & { readonly shards: number }): number {
  return (shards > 1 ? SHIPPED.page : SHIPPED.helped) + 2 * concurrency;
}

/** LATE: later tasks that one process begins before the oldest: it tries the tasks of a page in random order. */
export const PASSED_BY_PAGES = 2 * SHIPPED.page;

/**
 * PAUSE: until no task of a paused tenant begins: the worker's copy of the queue's row is read again. It may be frozen in between, for as long
 * as its session lives.
 */
export function pausedMs({ ttlMs }: Pick<Lease, 'ttlMs'>): number {
  return QUEUE_FRESH_MS + ttlMs;
}

/** TENANT: tasks of one tenant that a worker takes before it reaches another one: at most twice as many visits as tenants. */
export function takenOfTenant(tenants: number): number {
  return 2 * tenants * QUANTUM;
}
