/**
 * `Demand` describes a queue's work for a plan: entries of the ready index, and the results of a sample of their rows.
 *
 * An entry stays in the index while its task runs, so entries alone do not show how many tasks wait.
 * A plan that wants more workers reads some rows, spread evenly over the entries, and subtracts the entries that no new worker could serve:
 * tasks held by a worker without a permit, tasks of a key at capacity, tasks of a key whose rate is used up and of which none runs, and tasks
 * whose name no worker knows.
 */
import { isOutOfRate } from '../task/key-limit.ts';
import type { ReadyEntry, ReadyPartition } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';
import type { KeyStates, Turns } from './read-links.ts';
import { isBehind } from './read-links.ts';
import { SHOWS_AT_LAST_MS } from './pending-starts.ts';

/** Entries due in one partition of the ready index, counted up to a bound. */
export interface PartitionBacklog {
  readonly partition: ReadyPartition;
  readonly due: number;
  /** Entries that have been due for longer than half of `startWithinMs`, waiting or running. */
  readonly late: number;
  /** The page was full, so there are more entries; their number is unknown. */
  readonly isCutShort?: boolean | undefined;
}

export interface Demand {
  /** Due entries, including running tasks. */
  readonly due: number;
  /** Entries that have been due for longer than half of `startWithinMs`. */
  readonly late: number;
  /** A page was full, so there are more entries; their number is unknown. */
  readonly isCutShort?: boolean | undefined;
  /** Mean time in a slot, each task counted up to `startWithinMs`: see `worker/planning-hints.ts`. Undefined: unknown. */
  readonly tookMs: number | undefined;
  /** The main reason why entries were subtracted, if any were. */
  readonly less?: Unservable | undefined;
}

/** Why a new worker could not serve an entry. */
export type Unservable = 'heldElsewhere' | 'keysFull' | 'namesUnknown';

/** Facts that the rows do not contain. */
export interface SampleFacts {
  readonly now: number;
  /** Live sessions that hold tasks without a permit: workers outside Lambda. */
  readonly elsewhere: ReadonlySet<string>;
  /** States of keys with a rate, as far as they were read. */
  readonly keys: KeyStates;
  /** Turns of lines. A task of a line that is not among them counts as if it had the turn. */
  readonly turns: Turns;
  /** Names that the workers of this queue do not define, as they report. */
  readonly unknownNames: ReadonlySet<string>;
  /** Whether an operator has paused a tenant. */
  readonly isPaused: (tenant: string | undefined) => boolean;
}

type StartWithin = { readonly startWithinMs: number };

/** Adds up all partitions. */
export function demandOf(backlog: readonly PartitionBacklog[], tookMs: number | undefined): Demand {
  const sum = (figure: (one: PartitionBacklog) => number): number => backlog.reduce((all, one) => all + figure(one), 0);
  return {
    due: sum(({ due }) => due),
    late: sum(({ late }) => late),
    isCutShort: backlog.some(({ isCutShort }) => isCutShort === true),
    tookMs,
  };
}

/** Counts the entries that have been due for longer than half of `startWithinMs`. */
export function countLate(hints: readonly { readonly readyAt: number }[], now: number, settings: StartWithin): number {
  return hints.filter(({ readyAt }) => isLate(readyAt, now, settings)).length;
}

/** Chooses entries for a sample: all, or the wanted number, spread evenly from the oldest to the newest. */
export function spread(hints: readonly ReadyEntry[], wanted: number): readonly ReadyEntry[] {
  const sorted = hints.toSorted((one, other) => one.readyAt - other.readyAt);
  if (sorted.length <= wanted) return sorted;
  return Array.from({ length: wanted }, (_, nth) => Math.floor((nth * sorted.length) / wanted)).flatMap(
    (at) => sorted[at] ?? [],
  );
}

/**
 * Returns the demand without the entries that no new worker could serve. It estimates them from a sample of rows. Each row stands for the
 * same number of entries.
 * Two or more rows of one key represent many tasks of that key, and at most as many as its limit can run.
 * Counts one task of an unknown name, so that a worker starts now and then to check for a new deployment.
 * If the sample does not have all entries, one task of the keys whose rate is used up counts, too: others may be able to start.
 */
export function servable(
  demand: Demand,
  sample: readonly TaskRecord[],
  facts: SampleFacts,
  settings: StartWithin,
): Demand {
  if (sample.length === 0) return demand;
  const each = demand.due / sample.length;
  let { due, late } = demand;
  let less: Unservable | undefined;
  let most = 0;
  for (const [part, rows] of Map.groupBy(sample, (row) => partOf(row, facts))) {
    const taken = rows.length * each - roomFor(part, rows, each);
    if (taken <= 0) continue;
    const lateRows = rows.filter((row) => 'readyAt' in row && isLate(row.readyAt, facts.now, settings));
    due -= taken;
    late -= taken * (lateRows.length / rows.length);
    if (part !== 'over' && taken > most) {
      most = taken;
      less = part === 'heldElsewhere' || part === 'namesUnknown' ? part : 'keysFull';
    }
  }
  const isCutShort = demand.isCutShort === true && due >= demand.due * STILL_CUT_SHORT;
  return { ...demand, due, late: Math.min(due, Math.max(0, late)), isCutShort, less };
}

/** If only this few of the counted entries can be served, the uncounted entries do not justify starting all workers. */
const STILL_CUT_SHORT = 0.1;

/**
 * Groups rows by the reason not to count them, or by their key. `over`: no longer due, not due yet, behind others in its line, or of a
 * paused tenant.
 * A worker must pass the turn of a task that was cancelled before it.
 * A key whose rate is used up still counts while its row has a running task, because the worker of that task may have crashed, and if its next
 * window begins before a worker that is started now has polled.
 */
function partOf(row: TaskRecord, { now, elsewhere, keys, turns, unknownNames, isPaused }: SampleFacts): string {
  if (isPaused(row.tenant)) return 'over';
  if (row.state === 'running') return elsewhere.has(row.session) ? 'heldElsewhere' : keyOf(row);
  if (isBehind(row, turns)) return 'over';
  if (row.state === 'cancelled' && row.isInLine) return 'free';
  if (row.state !== 'ready' || now < row.readyAt) return 'over';
  if (unknownNames.has(row.name)) return 'namesUnknown';
  const limit = row.links?.concurrency;
  const state = limit && keys.get(limit.key);
  return limit && state?.running === 0 && isOutOfRate(limit, state, now + SHOWS_AT_LAST_MS) ? 'outOfRate' : keyOf(row);
}

function keyOf({ links }: TaskRecord): string {
  return links?.concurrency === undefined ? 'free' : `key ${links.concurrency.key}`;
}

/** Returns how many of the entries that these rows represent can be served. */
function roomFor(part: string, rows: readonly TaskRecord[], each: number): number {
  const all = rows.length * each;
  if (part === 'over' || part === 'heldElsewhere') return 0;
  if (part === 'outOfRate' && each <= 1) return 0;
  if (part === 'namesUnknown' || part === 'outOfRate') return Math.min(all, 1);
  // A single row may be the only row of its key.
  return part === 'free' || rows.length === 1 ? all : Math.min(all, rows[0]?.links?.concurrency?.limit ?? all);
}

function isLate(readyAt: number, now: number, { startWithinMs }: StartWithin): boolean {
  return readyAt < now - startWithinMs / 2;
}
