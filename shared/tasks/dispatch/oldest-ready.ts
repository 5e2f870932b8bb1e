/**
 * How long the oldest due task has waited that no worker holds.
 *
 * A claim leaves the index entry where it is, so in a queue that is busy the oldest entries are those of the tasks that run.
 * The rows behind the entries are read, oldest first, until one is met that waits.
 */
import type { ReadyHint, TaskStore } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';

/** Rows read at a time, after the first ones: what one request returns. */
const BATCH = 100;
/** Rows read at most, at half a unit each. */
const LOOK_LIMIT = 1_000;
/** How many of these are the oldest. The others are spread evenly over what is left. */
const OLDEST = 500;

interface OldestReady {
  /** The rows that were read. */
  readonly looked: readonly TaskRecord[];
  /**
   * When the oldest was due that no worker holds; undefined when none of those that were looked at waits.
   * With more than 1,000 entries, not every one is looked at.
   * Then one that waits may have been passed over, and there may be an older one than this:
   * it has waited so long at least.
   */
  readonly readyAt: number | undefined;
}

/** @param atLeast rows to read first; more are read only while none of them waits */
export async function findOldestReady(
  due: readonly ReadyHint[],
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

/** All, or the oldest and a sample of the others, in order. */
function choose(sorted: readonly ReadyHint[]): ReadyHint[] {
  if (sorted.length <= LOOK_LIMIT) return [...sorted];
  const others = sorted.slice(OLDEST);
  const step = Math.ceil(others.length / (LOOK_LIMIT - OLDEST));
  return [...sorted.slice(0, OLDEST), ...others.filter((_, at) => at % step === 0)];
}
