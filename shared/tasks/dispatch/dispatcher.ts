/**
 * One tick: take its row, read the backlog, start missing workers.
 *
 * A tick is only a trigger: work is selected by state, so a late, lost or repeated tick changes when tasks run, not which.
 * A tick that is delivered twice dispatches once.
 * A dispatcher that fails after taking its tick continues when its invocation is retried; without a retry,
 * the backlog waits for the next tick. Workers started before the failure either count as live or take permits that other workers would
 * have taken.
 * At most `maxWorkers` workers can run, regardless of the number of starts, because each first takes a permit of the queue's semaphore.
 */
import { allOf } from '../../core/runtime/all-of.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Slice } from '../task/slice.ts';
import type { QueueRecord, QueueStore, QueueUse } from '../task/queue-store.ts';
import { isPausedTenant } from '../task/queue-store.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { SessionStore } from '../../session/session-store.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { PartitionPage } from './measure.ts';
import { readPartitions, shardsOf } from './measure.ts';
import { findOldestReady } from './oldest-ready.ts';
import type { Demand, PartitionBacklog } from './demand.ts';
import { countLate, demandOf } from './demand.ts';
import type { PlanSettings } from './plan.ts';
import { homesOf, shareOf, slicesOf } from './plan.ts';
import type { Planned } from './planning.ts';
import { plan } from './planning.ts';
import type { RecurPorts } from './recur.ts';
import { enqueueDueOccurrences } from './recur.ts';
import type { TickStore, Tick } from './tick-store.ts';

/** A worker's start event. Ids only: the worker reads the rows from the table. */
export interface WorkEvent {
  readonly queue: string;
  readonly homeShards: readonly number[];
  /** Its part of these shards, if it shares them with other workers. It tries the other parts last. */
  readonly slice?: Slice;
  /** Session of the worker whose successor it is, if any. */
  readonly after?: string;
  /** Number of earlier workers in its chain. Default: 0. */
  readonly generation?: number;
  /** Ids of tasks to try first. They were just inserted, and the index may not show them yet. */
  readonly tasks?: readonly string[];
  /** The last worker came and went a moment ago: this one stays a little for the next task. */
  readonly stays?: boolean;
}

/** Returns the name of a queue's semaphore: every deployed worker holds one of its permits. */
export function workersSemaphore(queue: string): string {
  return `workers/${queue}`;
}

export interface DispatchSettings extends PlanSettings {
  readonly queue: string;
  readonly maxClockSkewMs: number;
}

export interface DispatcherPorts extends RecurPorts {
  readonly tasks: Pick<TaskStore, 'getMany' | 'getKeys' | 'getTurns' | 'page' | 'pageOfGroups'>;
  readonly sessions: Pick<SessionStore, 'getMany'>;
  readonly ticks: TickStore;
  /** Store of the operators' settings. Absent: there are no settings. */
  readonly queues?: QueueStore | undefined;
  readonly runtime: Runtime;
  readonly workers: WorkerStarter;
  /** Receives errors about unusable rows. The rows stay unchanged. */
  readonly onDamaged: (error: unknown) => void;
}

/** The dispatcher's access to the workers of a queue. */
export interface WorkerStarter {
  /** Starts one worker without waiting for it. It reports its own errors: a tick counts a failed start and continues. */
  readonly startWorker: (event: WorkEvent) => Promise<void>;
  /** Makes `maxWorkers` the number of permits. A deployment may have changed it, and workers refuse to start if the numbers differ. */
  readonly declareLimit: () => Promise<void>;
  /** Sessions of live workers that hold a permit. */
  readonly liveHolders: () => Promise<readonly string[]>;
}

export interface DispatchReport {
  /** Another delivery of the same tick took it, so this one did nothing. */
  readonly duplicate: boolean;
  /** An operator paused the queue: it is measured, but no worker is started. */
  readonly paused: boolean;
  /** Tasks created for occurrences. */
  readonly recurred: number;
  /** Unusable rows; each is worth an alarm. */
  readonly damaged: number;
  /** Shards in use now or earlier: at least the deployment's. */
  readonly shards: number;
  /** Due entries in shards that the deployment does not have, because a client or an earlier deployment uses more shards. */
  readonly strays: number;
  /** Due entries, capped at the number that `maxWorkers` could use. */
  readonly backlog: number;
  /** Age of the oldest due task that could start, or of a slightly newer one; zero if there is none. See `oldest-ready.ts`. */
  readonly oldestReadyAgeMs: number;
  readonly liveWorkers: number;
  readonly started: number;
  readonly failedStarts: number;
  /** Absent if the queue has no due tasks, or is paused. */
  readonly planned?: Planned;
}

export async function dispatch(
  tick: Tick,
  by: string,
  ports: DispatcherPorts,
  settings: DispatchSettings,
): Promise<DispatchReport> {
  const { clock, ids } = ports.runtime;
  const taken = await ports.ticks.take(tick, { by, now: clock.now(), nonce: ids.unique() });
  const nothing = {
    paused: false,
    recurred: 0,
    damaged: 0,
    shards: settings.shards,
    strays: 0,
    backlog: 0,
    oldestReadyAgeMs: 0,
    liveWorkers: 0,
    started: 0,
    failedStarts: 0,
  };
  // A failed invocation is retried under the same id, so it finds that the tick is its own and continues.
  if (taken.kind === 'refused' && taken.current?.by !== by) return { duplicate: true, ...nothing };

  // A task's row is read for its age, and again for the plan.
  const damages = new Set<string>();
  const onDamaged = (error: unknown): void => {
    const found = String(error);
    if (damages.has(found)) return;
    damages.add(found);
    ports.onDamaged(error);
  };
  const { queue: name } = settings;
  const [recurred, queue] = await allOf([enqueueDueOccurrences(name, ports, onDamaged), ports.queues?.get(name)]);
  const { pages, shards, backlog, demand } = await readBacklog(queue, { ...ports, onDamaged }, settings);
  const paused = queue?.isPaused === true;
  const seen = { paused, recurred, shards, strays: dueBeyond(settings.shards, backlog) };
  const due = dueIn(backlog);
  if (due === 0) return { duplicate: false, ...nothing, ...seen, damaged: damages.size };

  await ports.workers.declareLimit();
  const hints = pages.flatMap((page) => page.hints);
  const [holders, { checked, readyAt }] = await allOf([
    ports.workers.liveHolders(),
    findOldestReady(hints, ports.tasks, { atLeast: OLDEST_CHECKED, now: clock.now(), onDamaged }),
  ]);
  const oldestReadyAgeMs = readyAt === undefined ? 0 : Math.max(0, clock.now() - readyAt);
  const found = { ...seen, backlog: due, oldestReadyAgeMs, liveWorkers: holders.length };
  if (paused) return { duplicate: false, ...nothing, ...found, damaged: damages.size };
  const { planned } = await plan(
    { demand, hints, rows: checked, record: queue, holders, starting: 0 },
    { ...ports, onDamaged },
    { ...settings, shards },
  );
  const homes = homesOf(backlog, Math.max(0, planned.wanted - holders.length), shards);
  const slices = slicesOf(homes);
  const starts = await startWorkers(
    homes.map((homeShards, nth) => startOf(name, homeShards, slices[nth])),
    ports.workers,
  );
  return { duplicate: false, ...found, damaged: damages.size, ...starts, planned };
}

/**
 * Reads the due entries of the index. Records newly used lanes and shards in the queue's row, before it starts workers that need to know
 * them.
 */
export async function readBacklog(
  record: QueueRecord | undefined,
  ports: ReadPorts,
  settings: DispatchSettings,
): Promise<BacklogRead> {
  const { queue } = settings;
  const known = Math.max(settings.shards, record?.shards ?? 0);
  const { clock } = ports.runtime;
  const limit = pageLimit(settings, record?.tookMs, known);
  const isPaused = (tenant: string | undefined): boolean => isPausedTenant(record, tenant);
  const pages = await readPartitions({ ...ports, clock, isPaused }, { queue, known, limit });
  const shards = shardsOf(pages, known);
  await noteUse({ lanes: new Set(pages.flatMap(({ lane }) => lane ?? [])), shards }, record, ports, queue);
  const now = clock.now();
  const backlog = pages.map(({ partition, hints }): PartitionBacklog => ({
    partition,
    due: hints.length,
    late: countLate(hints, now, settings),
    isCutShort: limit === PAGE_LIMIT && hints.length >= limit,
  }));
  return { pages, shards, backlog, demand: demandOf(backlog, record?.tookMs) };
}

interface ReadPorts {
  readonly tasks: Pick<TaskStore, 'page' | 'pageOfGroups'>;
  readonly queues?: QueueStore | undefined;
  readonly runtime: Runtime;
  readonly onDamaged: (error: unknown) => void;
}

interface BacklogRead {
  readonly pages: readonly PartitionPage[];
  /** Shards in use now or earlier: at least the deployment's. */
  readonly shards: number;
  readonly backlog: readonly PartitionBacklog[];
  readonly demand: Demand;
}

/** Returns the start event of one of a plan's workers. */
export function startOf(queue: string, homeShards: readonly number[], slice: Slice | undefined): WorkEvent {
  return slice === undefined ? { queue, homeShards } : { queue, homeShards, slice };
}

/** Starts workers concurrently: one failed start does not stop the others. */
export async function startWorkers(
  events: readonly WorkEvent[],
  { startWorker }: Pick<WorkerStarter, 'startWorker'>,
): Promise<{ readonly started: number; readonly failedStarts: number }> {
  const starts = await Promise.allSettled(events.map((event) => startWorker(event)));
  const failedStarts = starts.filter(({ status }) => status === 'rejected').length;
  return { started: starts.length - failedStarts, failedStarts };
}

function dueIn(backlog: readonly PartitionBacklog[]): number {
  return backlog.reduce((sum, { due }) => sum + due, 0);
}

function dueBeyond(shards: number, backlog: readonly PartitionBacklog[]): number {
  return backlog.reduce((sum, { partition, due }) => (partition.shard < shards ? sum : sum + due), 0);
}

/**
 * Returns how many entries to count in one partition: at most the number that the whole fleet could start with.
 * It is at least the number of tasks that the fleet can run at the same time, because the entries of running tasks
 * would hide the waiting entries behind them.
 */
function pageLimit(settings: DispatchSettings, tookMs: number | undefined, shards: number): number {
  const { maxWorkers, concurrency } = settings;
  const each = Math.max(LEAST_CHECKED, concurrency / shareOf(tookMs, settings));
  return Math.min(PAGE_LIMIT, Math.ceil((maxWorkers * each) / shards) + 1);
}

/** Minimum entries per possible worker, so that waiting tasks are counted behind running ones even if the shards are uneven. */
const LEAST_CHECKED = 100;

async function noteUse(
  { lanes, shards }: QueueUse,
  record: QueueRecord | undefined,
  { queues, runtime }: ReadPorts,
  queue: string,
): Promise<void> {
  const isNew = shards > (record?.shards ?? 0) || [...lanes].some((lane) => record?.lanes?.has(lane) !== true);
  if (isNew) await queues?.noteUse(queue, record, { lanes, shards }, stampOf(runtime));
}

/** An index page of keys only: about 1,000 entries of 130 bytes are 16 read units. */
const PAGE_LIMIT = 1_000;
/** Number of rows that every tick with due entries reads, at half a unit each. It reads more if all of these tasks are held. */
const OLDEST_CHECKED = 25;
