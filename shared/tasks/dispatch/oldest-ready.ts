/**
 * Finds how long the oldest due task without a holder has waited.
 *
 * A claim leaves the index entry in place, so in a busy queue the oldest entries belong to running tasks.
 * So this reads the rows behind the entries, oldest first, until it finds a waiting task.
 */
import type { ReadyEntry, TaskStore } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';

/** Rows per request after the first: the maximum of one request. */
const BATCH = 100;
/** Rows read at most, at half a unit each. */
const LOOK_LIMIT = 1_000;
/** How many of these rows are the oldest. The others are spread evenly over the rest. */
const OLDEST = 500;

interface OldestReady {
  /** The rows that were read. */
  readonly looked: readonly TaskRecord[];
  /**
   * Due time of the oldest task without a holder; undefined if all rows read belong to held tasks.
   * With more than 1,000 entries, not every entry is read.
   * An older waiting task may then have been skipped, so
   * the real wait is at least this long.
   */
  readonly readyAt: number | undefined;
}

/** @param atLeast number of rows to read first. More are read only if all of these tasks are held */
export async function findOldestReady(
  due: readonly ReadyEntry[],
  tasks: Pick<TaskStore, 'getMany'>,
  { atLeast, onDamaged }: { readonly atLeast: number; readonly onDamaged?: (error: unknown) => void },
): Promise<OldestReady> {
  const entries = choose(due.toSorted((one, other) => one.readyAt - other.readyAt));
  const looked: TaskRecord[] = [];
  let batch = entries.splice(0, atLeast);
  while (batch.length > 0) {
    const rows = await tasks.getMany(batch, onDamaged);
    looked.push(...rows);
    const ready = rows.flatMap((row) => (row.state === 'ready' ? [row.readyAt] : []));
    if (ready.length > 0) return { looked, readyAt: Math.min(...ready) };
    batch = entries.splice(0, BATCH);
  }
  return { looked, readyAt: undefined };
}

/** Returns all entries, or the oldest and a sample of the others, in order. */
function choose(sorted: readonly ReadyEntry[]): ReadyEntry[] {
  if (sorted.length <= LOOK_LIMIT) return [...sorted];
  const others = sorted.slice(OLDEST);
  const step = Math.ceil(others.length / (LOOK_LIMIT - OLDEST));
  return [...sorted.slice(0, OLDEST), ...others.filter((_, at) => at % step === 0)];
}
