/** What a queue consists of, as its index and the rows behind it tell: bounded, and without a scan. */
import { workersSemaphore } from '../../shared/dispatch/dispatcher.ts';
import { take } from '../../shared/runtime/take.ts';
import { openEntries } from '../../shared/task/listing.ts';
import type { ReadyHint } from '../../shared/task/store.ts';
import type { Priority, ReadyTask, RunningTask } from '../../shared/task/task.ts';
import { PRIORITIES } from '../../shared/task/task.ts';
import type { Connection, QueueConnection } from '../connection.ts';

export type UnfinishedTask = ReadyTask | RunningTask;

/** Later than any task is due. */
const END_OF_TIME = Number.MAX_SAFE_INTEGER;
/** Index entries counted at most: 130 bytes each, so about 160 read units. */
const COUNT_LIMIT = 10_000;
/** Rows read at most, half a unit each. */
const LOOK_LIMIT = 200;

/** Tasks that wait or run, from high priority to low, oldest first within a shard. @param due only those that are due at this moment */
export async function* unfinishedTasks(
  queue: QueueConnection,
  due: number = END_OF_TIME,
): AsyncGenerator<UnfinishedTask> {
  for await (const hints of pages(queue, due)) {
    for (const task of await queue.store.getMany(hints))
      if (task.state === 'ready' || task.state === 'running') yield task;
  }
}

export interface Census {
  readonly queue: string;
  readonly isPaused: boolean;
  /** Entries of the index: due (running ones among them) and for later, by priority. */
  readonly due: Readonly<Record<Priority, number>>;
  readonly later: Readonly<Record<Priority, number>>;
  /** There may be more than were counted. */
  readonly more: boolean;
  /** Among the oldest due ones that were looked at. */
  readonly looked: number;
  readonly running: number;
  readonly oldestReadyAgeMs: number;
  readonly dead: number;
  readonly workers: { readonly live: number; readonly limit: number };
}

export async function takeCensus(connection: Connection, queue: QueueConnection): Promise<Census> {
  const now = connection.runtime.clock.now();
  const [record, counts, looked, dead, workers] = await Promise.all([
    queue.queues.get(queue.queue),
    count(queue, now),
    take(unfinishedTasks(queue, now), LOOK_LIMIT),
    take(queue.operator.dead(), COUNT_LIMIT),
    connection.semaphores.read(workersSemaphore(queue.queue)),
  ]);
  const ready = looked.rows.filter(({ state }) => state === 'ready').map(({ readyAt }) => readyAt);
  return {
    queue: queue.queue,
    isPaused: record?.isPaused === true,
    ...counts,
    more: counts.more || dead.more,
    looked: looked.rows.length,
    running: looked.rows.length - ready.length,
    oldestReadyAgeMs: ready.length === 0 ? 0 : Math.max(0, now - Math.min(...ready)),
    dead: dead.rows.length,
    workers: { live: workers?.live ?? 0, limit: workers?.limit ?? 0 },
  };
}

export function sumOf(counts: Readonly<Record<Priority, number>>): number {
  return PRIORITIES.reduce((sum, priority) => sum + counts[priority], 0);
}

async function count(queue: QueueConnection, now: number): Promise<Pick<Census, 'due' | 'later' | 'more'>> {
  const due = { high: 0, normal: 0, low: 0 };
  const later = { high: 0, normal: 0, low: 0 };
  for (const priority of PRIORITIES) {
    for await (const hints of pages(queue, END_OF_TIME, [priority])) {
      for (const { readyAt } of hints) (readyAt <= now ? due : later)[priority]++;
      if (sumOf(due) + sumOf(later) >= COUNT_LIMIT) return { due, later, more: true };
    }
  }
  return { due, later, more: false };
}

/** Those of tenants are among them. */
function pages(
  { queue, shards, store }: QueueConnection,
  now: number,
  priorities: readonly Priority[] = PRIORITIES,
): AsyncGenerator<readonly ReadyHint[]> {
  return openEntries(store, { queue, shards, priorities, now });
}
