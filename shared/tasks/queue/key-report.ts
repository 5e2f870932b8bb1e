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
import { stampOf, ensureUnwritten } from '../../core/lease/stamp.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import { validWholeNumber } from '../../core/validate/options.ts';
import { NEVER } from '../task/batch.ts';
import type { ObservedKey } from '../task/task-operator-store.ts';
import type { RunningTask, TaskRecord } from '../task/task.ts';
import { DEFAULT_SHARDS, MAX_SHARDS } from '../task/task.ts';
import type { OperatorPorts } from './operator-ports.ts';
import { openEntries } from './listing.ts';
import { defined } from '../../core/defined.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import type { LineState } from '../task/line.ts';
import { isPausedTenant } from '../task/queue-store.ts';

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

/**
 * Finds lines whose turn belongs to no task, and passes it: the row of the task was deleted by hand, or is missing in a restored table.
 *
 * The line's row has the ticket, and not the id. So the rows of all unfinished tasks of the queue are read, strongly consistent, and none
 * may have the ticket. The indexes are eventually consistent, so the turn must be as before for `SETTLE_MS`, and they must lag by less.
 */

/** The task that has the turn of a line. */
export type TurnReport =
  /** It passes the turn itself when it ends; if it was cancelled, the next worker passes it. */
  | {
      readonly kind: 'alive';
      readonly head: string;
      readonly state: TaskRecord['state'];
      /** Its tenant, if it is paused: then no worker claims the task, and it holds the line. */
      readonly pausedTenant?: string;
    }
  /** No task waits or runs. */
  | { readonly kind: 'empty' }
  /** The task with this ticket is gone. `next` is absent if no task waits behind it. */
  | { readonly kind: 'lost'; readonly ticket: number; readonly next?: string };

export type PassReport =
  | Exclude<TurnReport, { readonly kind: 'lost' }>
  | { readonly kind: 'passed'; readonly ticket: number; readonly next?: string };

/**
 * Says which task has the turn, and changes nothing.
 * @throws CorruptItemError for a damaged row of the queue, because its task may be the one with the turn
 */
export function reportTurn(ports: OperatorPorts, queue: string, key: string): Promise<TurnReport> {
  return whileItStands(ports, queue, key, async (line, lost) => {
    const now = await ports.operations.getLine(queue, key);
    return now?.turn === line.turn ? lost : contended();
  });
}

/** Passes the turn if no task has it. @throws CorruptItemError like `reportTurn` */
export function passTurn(ports: OperatorPorts, queue: string, key: string): Promise<PassReport> {
  const { operations, runtime } = ports;
  return whileItStands(ports, queue, key, async (observed, lost, to) => {
    const outcome = await operations.passLine(queue, key, { observed, to }, stampOf(runtime));
    if (outcome.kind === 'applied') return { ...lost, kind: 'passed' };
    // Another turn than the one that our caller saw lost may have come since.
    ensureUnwritten(describeLine(queue, key), outcome);
    return contended();
  });
}

type Lost = Extract<TurnReport, { readonly kind: 'lost' }>;

/**
 * @param onLost called if no task has the turn, with the first ticket that one has, or that the next one will have;
 *   reads again if the line has moved
 */
function whileItStands<Report>(
  ports: OperatorPorts,
  queue: string,
  key: string,
  onLost: (line: LineState, lost: Lost, first: number) => Promise<Report | Contended>,
): Promise<Report | Exclude<TurnReport, Lost>> {
  return retryContended<Report | Exclude<TurnReport, Lost>>(describeLine(queue, key), ports.runtime, async () => {
    const line = await ports.operations.getLine(queue, key);
    if (line === undefined || line.turn > line.tail) return { kind: 'empty' };
    await ports.runtime.clock.sleep(SETTLE_MS);
    const record = await ports.queues.get(queue);
    const members = await membersOf(ports, queue, key, record?.shards);
    const head = members.get(line.turn);
    if (head !== undefined) {
      const { id, state, tenant } = head;
      const pausedTenant = state !== 'running' && isPausedTenant(record, tenant) ? tenant : undefined;
      return { kind: 'alive', ...defined({ head: id, state, pausedTenant }) };
    }
    const first = Math.min(line.tail + 1, ...members.keys());
    return onLost(line, { kind: 'lost', ...defined({ ticket: line.turn, next: members.get(first)?.id }) }, first);
  });
}

function describeLine(queue: string, key: string): string {
  return `the line of key ${key} in queue ${queue}`;
}

/** By ticket. */
async function membersOf(
  { tasks, operations }: OperatorPorts,
  queue: string,
  key: string,
  used = 0,
): Promise<ReadonlyMap<number, TaskRecord>> {
  const members = new Map<number, TaskRecord>();
  const shards = Math.max(DEFAULT_SHARDS, used);
  for await (const hints of openEntries(tasks, { queue, shards, now: NEVER }))
    for (const task of await operations.getManyNow(hints, fail)) {
      const { line } = task.links ?? {};
      const stands =
        task.state === 'ready' || task.state === 'running' || (task.state === 'cancelled' && task.isInLine);
      if (line?.key === key && stands) members.set(line.ticket, task);
    }
  return members;
}

function fail(error: unknown): never {
  throw error;
}
