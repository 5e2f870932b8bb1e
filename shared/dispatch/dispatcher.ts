/**
 * One tick: take its slot, look at the backlog, start the workers that are missing.
 *
 * A tick is a trigger, never the query: work is selected by state, so a late, lost or doubled tick changes when tasks run, not which.
 * A tick delivered twice dispatches once. A dispatcher that dies after taking its slot leaves the backlog to the next tick.
 * More workers than `maxWorkers` cannot work, whatever is started here: each takes a permit of the queue's semaphore first.
 */
import { allOf } from '../runtime/all-of.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { QueueRecord, QueueStore } from '../task/queue-store.ts';
import { stampOf } from '../lease/stamp.ts';
import { LANES, laneName } from '../task/lane.ts';
import type { ReadyHint, ReadyPartition, TaskStore } from '../task/store.ts';
import { TenantWalk } from '../task/tenants.ts';
import type { PartitionBacklog, PlanSettings } from './plan.ts';
import { planWorkers } from './plan.ts';
import type { RecurPorts } from './recur.ts';
import { enqueueDueSlots } from './recur.ts';
import type { SlotStore, Tick } from './store.ts';

/** What a worker is told. Ids only: it reads the truth from the table. */
export interface WorkEvent {
  readonly queue: string;
  readonly homeShards: readonly number[];
  /** The session of the worker that it continues, if it does. */
  readonly after?: string;
}

/** The semaphore of which every worker of a queue holds a permit. */
export function workersSemaphore(queue: string): string {
  return `workers/${queue}`;
}

export interface DispatchSettings extends PlanSettings {
  readonly queue: string;
}

export interface DispatcherPorts extends RecurPorts {
  readonly tasks: TaskStore;
  readonly slots: SlotStore;
  /** What operators have set; absent: nothing. */
  readonly queues?: QueueStore | undefined;
  readonly runtime: Runtime;
  readonly workers: Workforce;
  /** Rows that cannot be used: left as they are, and reported here. */
  readonly onDamaged: (error: unknown) => void;
}

/** The workers of a queue, as far as its dispatcher deals with them. */
export interface Workforce {
  /** Starts one without waiting for it. Why one could not be started is its own to report: a tick counts it, and goes on. */
  readonly startWorker: (event: WorkEvent) => Promise<void>;
  /** Makes `maxWorkers` the number of permits. A deployment may have changed it, and workers refuse to start beside another number. */
  readonly declareLimit: () => Promise<void>;
  /** How many are alive. */
  readonly countLive: () => Promise<number>;
}

export interface DispatchReport {
  /** The slot was taken by an earlier delivery of the same tick; nothing was done. */
  readonly duplicate: boolean;
  /** An operator paused the queue: it is looked at, and nobody is started. */
  readonly paused: boolean;
  /** Tasks made of the slots of recurring ones. */
  readonly recurred: number;
  /** Rows that could not be used; each is an alarm of its own. */
  readonly damaged: number;
  /** Entries due, counted up to what the largest fleet could begin with. */
  readonly backlog: number;
  /** Age of the oldest due task that nobody holds; zero when there is none among the oldest. */
  readonly oldestReadyAgeMs: number;
  readonly liveWorkers: number;
  readonly started: number;
  readonly failedStarts: number;
}

export async function dispatch(
  tick: Tick,
  by: string,
  ports: DispatcherPorts,
  settings: DispatchSettings,
): Promise<DispatchReport> {
  const { clock, ids } = ports.runtime;
  const taken = await ports.slots.take(tick, { by, now: clock.now(), nonce: ids.unique() });
  const nothing = {
    paused: false,
    recurred: 0,
    damaged: 0,
    backlog: 0,
    oldestReadyAgeMs: 0,
    liveWorkers: 0,
    started: 0,
    failedStarts: 0,
  };
  if (taken.kind === 'refused') return { duplicate: true, ...nothing };

  let damaged = 0;
  const onDamaged = (error: unknown): void => {
    damaged++;
    ports.onDamaged(error);
  };
  const recurred = await enqueueDueSlots(settings.queue, ports, onDamaged);
  const [pages, queue] = await allOf([readBacklog(ports, settings), ports.queues?.get(settings.queue)]);
  await noteLanes(new Set(pages.flatMap(({ lane }) => lane ?? [])), queue, ports, settings.queue);
  const paused = queue?.isPaused === true;
  const backlog = pages.map(({ partition, hints }): PartitionBacklog => ({ partition, due: hints.length }));
  const due = backlog.reduce((sum, partition) => sum + partition.due, 0);
  if (due === 0) return { duplicate: false, ...nothing, paused, recurred, damaged };

  await ports.workers.declareLimit();
  const [liveWorkers, oldestReadyAgeMs] = await allOf([
    ports.workers.countLive(),
    ageOfOldestReady(
      pages.flatMap(({ hints }) => hints),
      { ...ports, onDamaged },
    ),
  ]);
  const plan = paused ? [] : planWorkers(backlog, liveWorkers, settings);
  const starts = await Promise.allSettled(
    plan.map((homeShards) => ports.workers.startWorker({ queue: settings.queue, homeShards })),
  );
  const failedStarts = starts.filter(({ status }) => status === 'rejected').length;
  return {
    duplicate: false,
    paused,
    recurred,
    damaged,
    backlog: due,
    oldestReadyAgeMs,
    liveWorkers,
    started: starts.length - failedStarts,
    failedStarts,
  };
}

interface PartitionPage {
  readonly partition: ReadyPartition;
  readonly hints: readonly ReadyHint[];
  /** The name of its lane, if anything is in it, be it due or not. */
  readonly lane: string | undefined;
}

async function readBacklog(ports: DispatcherPorts, settings: DispatchSettings): Promise<PartitionPage[]> {
  const { queue, shards, maxWorkers, tasksPerWorker } = settings;
  // No more is counted than the whole fleet could begin with.
  const limit = Math.min(PAGE_LIMIT, Math.max(1, Math.ceil((maxWorkers * tasksPerWorker) / shards)));
  const partitions = LANES.flatMap((lane) =>
    Array.from({ length: shards }, (_, shard) => ({ lane, partition: { queue, priority: lane.priority, shard } })),
  );
  return allOf(
    partitions.map(async ({ lane, partition }) => {
      const now = ports.runtime.clock.now();
      const { hints, isEmpty } = lane.isOfTenants
        ? await new TenantWalk(partition, ports.tasks).next({ now, wanted: limit, quantum: limit })
        : await pageOf(partition, { now, limit }, ports);
      return { partition, hints, lane: isEmpty ? undefined : laneName(lane) };
    }),
  );
}

async function pageOf(
  partition: ReadyPartition,
  query: { readonly now: number; readonly limit: number },
  { tasks }: DispatcherPorts,
): Promise<{ hints: readonly ReadyHint[]; isEmpty: boolean }> {
  const { hints } = await tasks.page(partition, query);
  return { hints, isEmpty: hints.length === 0 };
}

/** Writes down which lanes are in use, before any worker is started that needs to know. */
async function noteLanes(
  found: ReadonlySet<string>,
  record: QueueRecord | undefined,
  { queues, runtime }: DispatcherPorts,
  queue: string,
): Promise<void> {
  const isNew = [...found].some((lane) => record?.lanes?.has(lane) !== true);
  if (isNew) await queues?.addLanes(queue, record, found, stampOf(runtime));
}

/** An index page of keys only: about 1,000 entries of 130 bytes are 16 read units. */
const PAGE_LIMIT = 1_000;
/** At half a unit each; when even these are all held, the queue is not waiting. */
const OLDEST_LOOKED_AT = 25;

/** Index entries stay while a task runs, so the oldest entries are looked at for one that nobody holds. */
async function ageOfOldestReady(
  hints: readonly ReadyHint[],
  { tasks, runtime, onDamaged }: DispatcherPorts,
): Promise<number> {
  const oldest = hints.toSorted((a, b) => a.readyAt - b.readyAt).slice(0, OLDEST_LOOKED_AT);
  const rows = await tasks.getMany(oldest, onDamaged);
  const ready = rows.filter((row) => row.state === 'ready').map(({ readyAt }) => readyAt);
  return ready.length === 0 ? 0 : Math.max(0, runtime.clock.now() - Math.min(...ready));
}
