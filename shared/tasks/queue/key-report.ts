/**
 * Compares the count in a key's row with the key's running tasks, and repairs the count.
 *
 * After each write of the protocol, the two are equal. They differ only if a row was deleted, edited or restored.
 * Then a slot stays taken although no task has it, or the limit is exceeded.
 *
 * Does not guarantee
 *   - That it finds a task without an index entry. The indexes are eventually consistent, so `recountKey` waits until the key's latest
 *     start is `SETTLE_MS` old. It reads the rows of the tasks strongly consistent.
 */
import { stampOf } from '../../core/lease/write.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import { validWholeNumber } from '../../core/validate/options.ts';
import { NEVER } from '../task/batch.ts';
import type { ObservedKey } from '../task/task-operator-store.ts';
import type { RunningTask, TaskRecord } from '../task/task.ts';
import { DEFAULT_SHARDS, MAX_SHARDS } from '../task/task.ts';
import type { OperatorPorts } from './operator-ports.ts';
import { openEntries } from './listing.ts';

export interface KeyReport {
  readonly queue: string;
  readonly key: string;
  /** The limits of the tasks that were read, ascending: usually one. Empty without tasks. */
  readonly limits: readonly number[];
  /** Whether the key has a row, as it has since its first task ran. */
  readonly hasRow: boolean;
  /** Running tasks, by the key's row. */
  readonly count: number;
  /** Running tasks that were read. Those of crashed workers keep their slots until they are taken over. */
  readonly running: readonly RunningTask[];
  /** Tasks that wait, delayed ones included. */
  readonly waiting: number;
  /** Count minus running tasks. Positive: number of slots that no task has. Negative: the limit may be exceeded by this number. */
  readonly difference: number;
  /**
   * Whether the report shows one moment: it read all entries, and no task of the key started or stopped running in the meantime.
   * If false, a difference proves nothing.
   */
  readonly isExact: boolean;
}

export interface RecountReport {
  /** Whether the count was wrong, and has been set. */
  readonly kind: 'recounted' | 'right';
  readonly before: number;
  readonly after: number;
}

export interface KeysQuery {
  readonly queue: string;
  readonly keys: readonly string[];
  /** Shards of the queue's workers. A larger number that was ever in use, by the queue's row, goes before it. */
  readonly shards?: number | undefined;
  /** Maximum number of index entries to read. Default: all. */
  readonly entriesLimit?: number;
}

/** A recount is right if the indexes lag by less. Usually they lag by milliseconds. */
export const SETTLE_MS = 5_000;

/** By id, because an entry that moves may be met twice. */
type TasksById = ReadonlyMap<string, TaskRecord>;

/** Reads several keys of a queue in one pass over its indexes: half a read unit or more for each unfinished task of the queue. */
export async function reportKeys(ports: OperatorPorts, query: KeysQuery): Promise<readonly KeyReport[]> {
  const { queue, keys } = query;
  const rows = () => Promise.all(keys.map((key) => ports.operations.getKey(queue, key)));
  const before = await rows();
  let isComplete = true;
  const tasks = await tasksOf(ports, query, () => {
    isComplete = false;
  });
  const after = await rows();
  return keys.map((key, at) => {
    const ofKey = [...(tasks.get(key)?.values() ?? [])];
    const running = runningOf(ofKey);
    const ready = ofKey.filter((task) => task.state === 'ready');
    const count = after[at]?.running ?? 0;
    return {
      queue,
      key,
      limits: [...new Set(ofKey.flatMap(({ links }) => links?.concurrency?.limit ?? []))].sort((a, b) => a - b),
      hasRow: after[at]?.nonce !== undefined,
      count,
      running,
      waiting: ready.length,
      difference: count - running.length,
      isExact: isComplete && before[at]?.nonce === after[at]?.nonce,
    };
  });
}

/**
 * Sets the count of a key to the number of its running tasks. A task that starts or stops running in the meantime is not lost:
 * the write is refused, and the tasks are read again.
 * @throws StoreUnavailableError if tasks of the key keep starting: pause the queue, and recount then
 * @throws CorruptItemError for a damaged row of the queue, because its task may be one of the key's that run
 */
export async function recountKey(
  ports: OperatorPorts,
  { queue, key, shards }: Omit<KeysQuery, 'keys' | 'entriesLimit'> & { readonly key: string },
  maxClockSkewMs: number,
): Promise<RecountReport> {
  const what = `the count of key ${key} in queue ${queue}`;
  let wasMissing = false;
  return retryContended(`${what} (a paused queue stays as it is)`, ports.runtime, async () => {
    const observed = await ports.operations.getKey(queue, key);
    await settled(ports, observed, maxClockSkewMs);
    const tasks = await tasksOf(ports, { queue, keys: [key], shards }, (error) => {
      throw error;
    });
    const running = runningOf([...(tasks.get(key)?.values() ?? [])]).length;
    const { running: before } = observed;
    if (running === before) {
      const { nonce } = await ports.operations.getKey(queue, key);
      if (nonce !== observed.nonce) return contended();
      return wasMissing ? { kind: 'recounted', before: 0, after: running } : { kind: 'right', before, after: running };
    }
    const outcome = await ports.operations.recountKey(queue, key, { observed, running }, stampOf(ports.runtime));
    if (outcome.kind === 'refused') return contended(outcome);
    if (observed.nonce !== undefined) return { kind: 'recounted', before: wasMissing ? 0 : before, after: running };
    // A task that ended in the meantime found no row to write, so nothing refused our write: the tasks are read once more.
    wasMissing = true;
    return contended();
  });
}

/** Waits until the indexes show the task that started last. */
async function settled({ runtime }: OperatorPorts, { enteredAt }: ObservedKey, maxClockSkewMs: number): Promise<void> {
  const waitMs = (enteredAt ?? 0) + maxClockSkewMs + SETTLE_MS - runtime.clock.now();
  if (waitMs > 0) await runtime.clock.sleep(Math.min(waitMs, maxClockSkewMs + SETTLE_MS));
}

async function tasksOf(
  ports: OperatorPorts,
  { queue, keys, shards = DEFAULT_SHARDS, entriesLimit = Infinity }: KeysQuery,
  onIncomplete: (error: unknown) => void,
): Promise<ReadonlyMap<string, TasksById>> {
  const given = validWholeNumber('shards', shards, { min: 1, max: MAX_SHARDS });
  const record = await ports.queues.get(queue);
  const tasks = new Map(keys.map((key) => [key, new Map<string, TaskRecord>()]));
  let entries = 0;
  const used = Math.max(given, record?.shards ?? 0);
  for await (const hints of openEntries(ports.tasks, { queue, shards: used, now: NEVER })) {
    if (entries >= entriesLimit) {
      onIncomplete(undefined);
      break;
    }
    entries += hints.length;
    for (const task of await ports.operations.getManyNow(hints, onIncomplete))
      tasks.get(task.links?.concurrency?.key ?? '')?.set(task.id, task);
  }
  return tasks;
}

function runningOf(tasks: readonly TaskRecord[]): readonly RunningTask[] {
  return tasks.filter((task): task is RunningTask => task.state === 'running');
}
