/**
 * Finds how long the oldest due task without a holder has waited.
 *
 * A claim leaves the index entry in place, so in a busy queue the oldest entries belong to running tasks.
 * So this reads the rows behind the entries, oldest first, until it finds a waiting task. A task of a key at capacity does not count, and
 * neither does one behind others in its line: no worker could start it.
 */
import type { KeyState } from '../task/key-limit.ts';
import { fullnessOf } from '../task/key-limit.ts';
import type { ReadyEntry, TaskStore } from '../task/task-store.ts';
import type { ReadyTask, TaskRecord } from '../task/task.ts';
import type { Turns } from './read-turns.ts';
import { isBehind, readTurns } from './read-turns.ts';

/** Rows per request after the first: the maximum of one request. */
const BATCH = 100;
/** Rows read at most, at half a unit each. */
const LOOK_LIMIT = 1_000;
/** How many of these rows are the oldest. The others are spread evenly over the rest. */
const OLDEST = 500;
/** Rows of keys read at most, and of lines, at half a unit each. Other tasks count as if their key had capacity and their turn had come. */
const KEYS_LIMIT = 100;

interface OldestReady {
  /** The rows that were read. */
  readonly looked: readonly TaskRecord[];
  /**
   * Due time of the oldest task without a holder that could start; undefined if no row read belongs to one.
   * With more than 1,000 entries, not every entry is read.
   * An older waiting task may then have been skipped, so
   * the real wait is at least this long.
   */
  readonly readyAt: number | undefined;
}

interface OldestReadyQuery {
  /** Number of rows to read first. More are read only if none of these tasks could start. */
  readonly atLeast: number;
  readonly now: number;
  readonly onDamaged?: (error: unknown) => void;
}

export async function findOldestReady(
  due: readonly ReadyEntry[],
  tasks: Pick<TaskStore, 'getMany' | 'getKeys' | 'getTurns'>,
  { atLeast, now, onDamaged }: OldestReadyQuery,
): Promise<OldestReady> {
  const entries = choose(due.toSorted((one, other) => one.readyAt - other.readyAt));
  const looked: TaskRecord[] = [];
  const keys: KeyStates = new Map();
  let turns: Turns = new Map();
  let batch = entries.splice(0, atLeast);
  while (batch.length > 0) {
    const rows = await tasks.getMany(batch, onDamaged);
    looked.push(...rows);
    const waiting = rows.filter((row) => row.state === 'ready');
    turns = await readTurns(waiting, { tasks, onDamaged }, { known: turns, limit: KEYS_LIMIT });
    const first = waiting.filter((task) => !isBehind(task, turns));
    await readKeys(first, keys, tasks, onDamaged);
    const ready = first.filter((task) => hasRoom(task, keys, now)).map(({ readyAt }) => readyAt);
    if (ready.length > 0) return { looked, readyAt: Math.min(...ready) };
    batch = entries.splice(0, BATCH);
  }
  return { looked, readyAt: undefined };
}

type KeyStates = Map<string, KeyState | undefined>;

/** Adds the states of these tasks' keys, up to `KEYS_LIMIT` in all. */
async function readKeys(
  waiting: readonly ReadyTask[],
  known: KeyStates,
  tasks: Pick<TaskStore, 'getKeys'>,
  onDamaged?: (error: unknown) => void,
): Promise<void> {
  const [first] = waiting;
  const keys = new Set(waiting.flatMap(({ links }) => links?.concurrency?.key ?? []));
  const unknown = [...keys].filter((key) => !known.has(key)).slice(0, KEYS_LIMIT - known.size);
  if (first === undefined || unknown.length === 0) return;
  const states = await tasks.getKeys(first.queue, unknown, onDamaged);
  for (const key of unknown) known.set(key, states.get(key));
}

function hasRoom({ links }: ReadyTask, keys: KeyStates, now: number): boolean {
  const limit = links?.concurrency;
  const state = limit && keys.get(limit.key);
  return limit === undefined || state === undefined || fullnessOf(limit, state, now) === undefined;
}

/** Returns all entries, or the oldest and a sample of the others, in order. */
function choose(sorted: readonly ReadyEntry[]): ReadyEntry[] {
  if (sorted.length <= LOOK_LIMIT) return [...sorted];
  const others = sorted.slice(OLDEST);
  const step = Math.ceil(others.length / (LOOK_LIMIT - OLDEST));
  return [...sorted.slice(0, OLDEST), ...others.filter((_, at) => at % step === 0)];
}
