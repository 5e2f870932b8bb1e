/**
 * Finds how long the oldest due task without a holder has waited.
 *
 * A claim leaves the index entry in place, so in a busy queue the oldest entries belong to running tasks.
 * So this reads the rows behind the entries, oldest first, until it finds a waiting task. A task of a key at capacity does not count, and
 * neither does one behind others in its line: no worker could start it.
 */
import { fullnessOf } from '../task/key-limit.ts';
import type { ReadyEntry, TaskStore } from '../task/task-store.ts';
import type { ReadyTask, TaskRecord } from '../task/task.ts';
import type { KeyStates, Turns } from './read-links.ts';
import { isBehind, readKeys, readTurns } from './read-links.ts';

/** Rows per request after the first: the maximum of one request. */
const BATCH = 100;
/** Rows read at most, at half a unit each. */
const READ_LIMIT = 1_000;
/** How many of these rows are the oldest. The others are spread evenly over the rest. */
const OLDEST = 500;
/** Rows of keys read at most, and of lines, at half a unit each. Other tasks count as if their key had capacity and their turn had come. */
const KEYS_LIMIT = 100;

interface OldestReady {
  /** The rows that were read. */
  readonly checked: readonly TaskRecord[];
  /**
   * Due time of the oldest task without a holder that could start; undefined if no row read belongs to one.
   * With more than 1,000 entries, not every entry is read.
   * An older waiting task may then have been skipped, so
   * the real wait is at least this long.
   */
  readonly readyAt: number | undefined;
}

interface OldestReadyQuery {
  /** Number of rows to read first. More are read only if all of these tasks have to wait. */
  readonly atLeast: number;
  readonly now: number;
  readonly onDamaged?: (error: unknown) => void;
  /** Whether an operator has paused a tenant: none of its tasks counts. Default: no entry is of one that is. */
  readonly isPaused?: (tenant: string | undefined) => boolean;
}

export async function findOldestReady(
  due: readonly ReadyEntry[],
  tasks: Pick<TaskStore, 'getMany' | 'getKeys' | 'getTurns'>,
  { atLeast, now, onDamaged, isPaused = () => false }: OldestReadyQuery,
): Promise<OldestReady> {
  const entries = choose(due.toSorted((one, other) => one.readyAt - other.readyAt));
  const checked: TaskRecord[] = [];
  const ports = { tasks, onDamaged };
  let keys: KeyStates = new Map();
  let turns: Turns = new Map();
  let batch = entries.splice(0, atLeast);
  while (batch.length > 0) {
    const rows = await tasks.getMany(batch, onDamaged);
    checked.push(...rows);
    const waiting = rows.filter((row): row is ReadyTask => row.state === 'ready' && !isPaused(row.tenant));
    turns = await readTurns(waiting, ports, { known: turns, limit: KEYS_LIMIT });
    const first = waiting.filter((task) => !isBehind(task, turns));
    keys = await readKeys(first, ports, { known: keys, limit: KEYS_LIMIT });
    const ready = first.filter((task) => hasRoom(task, keys, now)).map(({ readyAt }) => readyAt);
    if (ready.length > 0) return { checked, readyAt: Math.min(...ready) };
    batch = entries.splice(0, BATCH);
  }
  return { checked, readyAt: undefined };
}

function hasRoom({ links }: ReadyTask, keys: KeyStates, now: number): boolean {
  const limit = links?.concurrency;
  const state = limit && keys.get(limit.key);
  return limit === undefined || state === undefined || fullnessOf(limit, state, now) === undefined;
}

/** Returns all entries, or the oldest and a sample of the others, in order. */
function choose(sorted: readonly ReadyEntry[]): ReadyEntry[] {
  if (sorted.length <= READ_LIMIT) return [...sorted];
  const others = sorted.slice(OLDEST);
  const step = Math.ceil(others.length / (READ_LIMIT - OLDEST));
  return [...sorted.slice(0, OLDEST), ...others.filter((_, at) => at % step === 0)];
}
