/** Summarizes a queue from its index and some of the rows, with bounded cost and without a scan. */
import { wantedNow } from '../../shared/tasks/dispatch/wanted-now.ts';
import { liveWorkers, permitHolders } from '../../shared/tasks/dispatch/live-workers.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { findOldestReady } from '../../shared/tasks/dispatch/oldest-ready.ts';
import { take } from '../../shared/core/runtime/take.ts';
import type { ReadyEntry } from '../../shared/tasks/task/task-store.ts';
import type { ListedEntry } from '../../shared/tasks/queue/listing.ts';
import { openEntries } from '../../shared/tasks/queue/listing.ts';
import { isPausedTenant } from '../../shared/tasks/task/queue-store.ts';
import { FirstTickets } from '../../shared/tasks/task/line.ts';
import type { Priority, ReadyTask, RunningTask } from '../../shared/tasks/task/task.ts';
import { PRIORITIES } from '../../shared/tasks/task/task.ts';
import type { CliConnection, QueueConnection } from '../connection.ts';
import { shardsInUse } from './shards.ts';
import { isSuspended } from './task-words.ts';

type UnfinishedTask = ReadyTask | RunningTask;

/** After the due time of any task. */
const END_OF_TIME = Number.MAX_SAFE_INTEGER;
/** Maximum index entries to count: 130 bytes each, so about 160 read units. */
const COUNT_LIMIT = 10_000;
/** Minimum rows to read, half a unit each. It reads more while all of them belong to running tasks. */
const CHECKED_AT_MOST = 200;

/** Tasks that wait or run, from high priority to low, oldest first within a shard. */
export async function* unfinishedTasks(queue: QueueConnection): AsyncGenerator<UnfinishedTask> {
  const shards = await shardsInUse(queue);
  for await (const hints of openEntries(queue.store, { queue: queue.queue, shards, now: END_OF_TIME })) {
    for (const task of await queue.store.getMany(hints))
      if (task.state === 'ready' || task.state === 'running') yield task;
  }
}

export interface SuspendedTasks {
  /** Waiting durable tasks, among the tasks that were read. */
  readonly tasks: readonly ReadyTask[];
  /** How many waiting tasks were read, those first that wait for no time; and how many there are. */
  readonly checked: number;
  readonly later: number;
}

export async function suspendedTasks(queue: QueueConnection, now: number): Promise<SuspendedTasks> {
  const shards = await shardsInUse(queue);
  const later: ReadyEntry[] = [];
  for await (const page of openEntries(queue.store, { queue: queue.queue, shards, now: END_OF_TIME })) {
    later.push(...page.filter(({ readyAt }) => readyAt > now));
    if (later.length >= COUNT_LIMIT) break;
  }
  const rows = await queue.store.getMany(
    later.toSorted((one, other) => other.readyAt - one.readyAt).slice(0, CHECKED_AT_MOST),
  );
  const tasks = rows.filter((task): task is ReadyTask => isSuspended(task, now));
  return { tasks, checked: rows.length, later: later.length };
}

export interface QueueSummary {
  readonly queue: string;
  readonly isPaused: boolean;
  /** Tenants whose tasks workers do not claim, and how many of the due tasks are theirs. */
  readonly pausedTenants: readonly string[];
  readonly held: number;
  /** Entries of the index by priority: due ones, including running tasks, and delayed ones. */
  readonly due: Readonly<Record<Priority, number>>;
  readonly later: Readonly<Record<Priority, number>>;
  /** Whether there may be more than were counted. */
  readonly more: boolean;
  /** Number of the oldest due tasks that were read. */
  readonly checked: number;
  readonly running: number;
  readonly oldestReadyAgeMs: number;
  readonly dead: number;
  /** Live workers; how many of them hold a permit, as deployed workers do; and the number of permits. */
  readonly workers: { readonly live: number; readonly permits: number; readonly limit: number };
  /** Number of deployed workers that the due entries require, if a worker has announced its settings. Ignores keys and names. */
  readonly wanted: number | undefined;
  /** Mean time of a task in a worker, in ms, each counted up to `startWithin`; undefined: unknown. */
  readonly tookMs: number | undefined;
}

export async function summarizeQueue(connection: CliConnection, queue: QueueConnection): Promise<QueueSummary> {
  const now = connection.runtime.clock.now();
  const [record, { hints, ...counts }, dead, workers] = await Promise.all([
    queue.queues.get(queue.queue),
    shardsInUse(queue).then((shards) => count({ ...queue, shards }, now)),
    take(queue.operator.dead(), COUNT_LIMIT),
    workersOf(connection, queue.queue, now),
  ]);
  const isPaused = (tenant: string | undefined): boolean => isPausedTenant(record, tenant);
  const open = hints.filter(({ tenant }) => !isPaused(tenant));
  const { checked, readyAt } = await findOldestReady(hints, queue.store, { atLeast: CHECKED_AT_MOST, now, isPaused });
  const unfinished = checked.filter(({ state }) => state === 'ready' || state === 'running');
  return {
    queue: queue.queue,
    isPaused: record?.isPaused === true,
    pausedTenants: [...(record?.pausedTenants ?? [])].sort(),
    held: hints.length - open.length,
    ...counts,
    more: counts.more || dead.more,
    checked: unfinished.length,
    running: unfinished.filter(({ state }) => state === 'running').length,
    oldestReadyAgeMs: readyAt === undefined ? 0 : Math.max(0, now - readyAt),
    dead: dead.rows.length,
    workers,
    wanted: wantedNow(record, open, workers, now),
    tookMs: record?.tookMs,
  };
}

async function workersOf(
  { semaphores, sessions, maxClockSkewMs }: CliConnection,
  queue: string,
  now: number,
): Promise<QueueSummary['workers']> {
  const permits = await semaphores.get(workersSemaphore(queue));
  const holders = permitHolders(permits);
  const live = await liveWorkers(sessions, queue, holders, { now, maxClockSkewMs });
  return { live: live.size, permits: holders.length, limit: permits?.limit ?? 0 };
}

/** Paused, active, or with due tasks but without a worker. With a dispatcher, the last state only lasts for a moment. */
export function queueState({ isPaused, due, workers }: QueueSummary): 'paused' | 'no worker' | 'active' {
  if (isPaused) return 'paused';
  return workers.live === 0 && sumOf(due) > 0 ? 'no worker' : 'active';
}

/** The state in words. */
export function workersText({ live, permits, limit }: QueueSummary['workers']): string {
  return limit === 0 ? String(live) : `${live}, with ${permits} of ${limit} permits`;
}

export function sumOf(counts: Readonly<Record<Priority, number>>): number {
  return PRIORITIES.reduce((sum, priority) => sum + counts[priority], 0);
}

type Counts = Pick<QueueSummary, 'due' | 'later' | 'more'> & {
  /** The due entries, and the first one of each line only. */
  readonly hints: readonly ListedEntry[];
};

async function count(queue: Pick<QueueConnection, 'queue' | 'shards' | 'store'>, now: number): Promise<Counts> {
  const due = { high: 0, normal: 0, low: 0 };
  const later = { high: 0, normal: 0, low: 0 };
  const hints: ListedEntry[] = [];
  const firsts = new FirstTickets();
  const first = (): readonly ListedEntry[] => hints.filter(({ line }) => firsts.has(line));
  for (const priority of PRIORITIES) {
    for await (const page of openEntries(queue.store, { ...queue, priorities: [priority], now: END_OF_TIME })) {
      for (const hint of page) {
        firsts.see(hint.line);
        (hint.readyAt <= now ? due : later)[priority]++;
        if (hint.readyAt <= now) hints.push(hint);
      }
      if (sumOf(due) + sumOf(later) >= COUNT_LIMIT) return { due, later, hints: first(), more: true };
    }
  }
  return { due, later, hints: first(), more: false };
}
