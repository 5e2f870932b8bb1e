/**
 * A wake: tasks of a queue were just inserted, and workers are started now rather than with the next tick.
 *
 * It only brings forward what the next tick would do.
 * It plans as the dispatcher does (`plan.ts`), and keeps no ledger: who may work is decided by
 * the workers' permits, so a wake that is lost, late or doubled does no harm. Looking comes before starting, the cheapest look first:
 *   1. one consistent read of the workers' permits;
 *     that is all while a worker was started within the last second, while all permits are taken,
 *      or while those at work cope;
 *   2. with no worker at work, the inserted rows: tasks for later start no worker;
 *   3. the backlog, as a tick reads it.
 * It never waits. What one look misses, because a worker was about to leave or because the index lags, the schedule finds.
 *
 * A waker remembers what it did last, so that wakes that follow each other
 * closely do not start a worker each. Memory is not needed for safety:
 * a second waker, or one that was just started, starts at most some workers that find no permit or no task, and leave.
 */
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SemaphoreRecord } from '../../coordination/semaphore/semaphore.ts';
import { permitsHeld } from '../../coordination/semaphore/semaphore.ts';
import type { SemaphoreStore } from '../../coordination/semaphore/semaphore-store.ts';
import { judgeSession } from '../../session/session-record.ts';
import type { SessionStore } from '../../session/session-store.ts';
import type { QueueRecord, QueueStore } from '../task/queue-store.ts';
import type { ReadyHint, TaskStore } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';
import type { DispatchSettings, Workforce } from './dispatcher.ts';
import { lookAtBacklog, startOf, startWorkers, workersSemaphore } from './dispatcher.ts';
import type { Demand, PartitionBacklog } from './demand.ts';
import { PendingStarts } from './pending-starts.ts';
import { homesOf, slicesOf, wantedWorkers } from './plan.ts';
import type { Planned } from './planning.ts';
import { plan } from './planning.ts';

export interface WakerPorts {
  readonly tasks: Pick<TaskStore, 'page' | 'pageOfTenants' | 'getMany'>;
  readonly sessions: Pick<SessionStore, 'getMany'>;
  readonly semaphores: Pick<SemaphoreStore, 'get'>;
  readonly queues?: QueueStore | undefined;
  readonly runtime: Runtime;
  readonly workers: Pick<Workforce, 'startWorker' | 'declareLimit'>;
  /** Rows that cannot be used: left as they are, and reported here. */
  readonly onDamaged: (error: unknown) => void;
}

export type WakerSettings = DispatchSettings;

/** Why a wake started no worker. */
export type NoStart =
  /** A worker that was started a moment ago looks at the backlog by itself. */
  | 'justStarted'
  /** As many are at work as there may be. */
  | 'full'
  /** Those at work look by themselves, and fewer tasks were inserted since than justify one more. */
  | 'atWork'
  /** None of the inserted tasks is due, or others have taken them all. */
  | 'nothingDue'
  | 'paused';

export interface WakeReport {
  readonly started: number;
  readonly failedStarts: number;
  /** When no start was tried. */
  readonly reason?: NoStart;
  /** When the backlog was looked at. */
  readonly planned?: Planned;
}

/** Inserted rows that are read at a time, until one is met that is due. */
const ROWS_AT_A_TIME = 25;
/** The index shows what was inserted within this time. */
const INDEX_LAG_MS = 1_000;
/** Of what was inserted since, so much is kept in mind. */
const HEARD_LIMIT = 10_000;

/** The waker of one queue. */
export class Waker {
  readonly #ports: WakerPorts;
  readonly #settings: WakerSettings;
  readonly #starts = new PendingStarts();
  /** What the last look found, and the tasks inserted since; undefined: none yet. */
  #looked: Demand | undefined;
  #lookedAt = -Infinity;
  #inserted = 0;
  /** Tasks that the index may not show yet. */
  #heard: { readonly id: string; readonly at: number }[] = [];
  /** Sessions of workers that were found alive: until when that need not be asked again. */
  readonly #aliveUntil = new Map<string, number>();

  constructor(ports: WakerPorts, settings: WakerSettings) {
    this.#ports = ports;
    this.#settings = settings;
  }

  /** @param ids of the tasks that were inserted, of this queue */
  async wake(ids: readonly string[]): Promise<WakeReport> {
    const { queue } = this.#settings;
    const { runtime, semaphores, queues, workers } = this.#ports;
    const now = runtime.clock.now();
    this.#hear(ids, now);
    const permits = await semaphores.get(workersSemaphore(queue));
    const live = await this.#liveHolders(permits, now);
    const starting = this.#starts.count(permits?.leaseCounter ?? 0, now);
    const reason = this.#reasonNotToLook(permits, live, starting, now);
    if (reason !== undefined) return noStart(reason);
    const rows = await this.#firstDue(ids, now);
    const atWork = live.length + starting;
    if (rows === undefined && atWork === 0) return noStart('nothingDue');

    const record = await queues?.get(queue);
    if (record?.isPaused === true) return noStart('paused');
    const { shards, backlog, demand, hints, shown } = await this.#look(record, now);
    const holders = live.map(({ session }) => session);
    const settings = { ...this.#settings, shards };
    const found = await plan({ demand, hints, rows: rows ?? [], record, holders, starting }, this.#ports, settings);
    const { planned } = found;
    this.#looked = found.demand;
    this.#lookedAt = now;
    this.#inserted = 0;
    const missing = planned.wanted - atWork;
    if (missing <= 0)
      return { ...noStart(live.length > 0 ? 'atWork' : starting > 0 ? 'justStarted' : 'nothingDue'), planned };
    this.#starts.begin(missing, await this.#tokenBeforeStart(permits), now);
    const { concurrency } = this.#settings;
    const slots = live.length > 0 ? planned.wanted * concurrency : (rows?.length ?? 0);
    const named = idsToBeginWith(rows ?? [], shown, slots);
    const homes = homesOf(backlog, missing, shards);
    const slices = slicesOf(homes);
    const events = homes.map((homeShards, nth) => {
      const where = startOf(queue, homeShards, slices[nth]);
      const tasks = named.slice(nth * concurrency, (nth + 1) * concurrency);
      return tasks.length > 0 ? { ...where, tasks } : where;
    });
    return { ...(await startWorkers(events, workers)), planned };
  }

  /** The backlog, and what was heard of a moment ago: the index may not show it yet, or show it to one look and not to the next. */
  async #look(record: QueueRecord | undefined, now: number): Promise<Look> {
    const { queue } = this.#settings;
    const { pages, shards, backlog, demand } = await lookAtBacklog(record, this.#ports, this.#settings);
    const seen = pages.flatMap(({ hints }) => hints);
    const shown = new Set(seen.map(({ id }) => id));
    const unseen = this.#heard.filter(({ id }) => !shown.has(id));
    return {
      shards,
      backlog,
      shown,
      hints: [...seen, ...unseen.map(({ id }) => ({ queue, id, readyAt: now }))],
      demand: { ...demand, due: demand.due + unseen.length },
    };
  }

  #hear(ids: readonly string[], now: number): void {
    const known = new Set(this.#heard.map(({ id }) => id));
    const added = ids.filter((id) => !known.has(id));
    this.#inserted += added.length;
    const kept = this.#heard.filter(({ at }) => now - at < INDEX_LAG_MS);
    this.#heard = [...kept, ...added.map((id) => ({ id, at: now }))].slice(-HEARD_LIMIT);
  }

  /** The last token of the permits; `maxWorkers` is in effect from now on, which makes the row where there is none. */
  async #tokenBeforeStart(permits: SemaphoreRecord | undefined): Promise<number> {
    const { queue, maxWorkers } = this.#settings;
    if (permits?.declared === maxWorkers) return permits.leaseCounter;
    await this.#ports.workers.declareLimit();
    return (await this.#ports.semaphores.get(workersSemaphore(queue)))?.leaseCounter ?? 0;
  }

  /** What was found last and what came since is what others are there for, or will be in a moment. */
  #reasonNotToLook(
    permits: SemaphoreRecord | undefined,
    live: SemaphoreRecord['holders'],
    starting: number,
    now: number,
  ): NoStart | undefined {
    const limit = Math.min(this.#settings.maxWorkers, permits?.limit ?? Infinity);
    if (permitsHeld(live) >= limit) return 'full';
    if (live.length + starting >= limit) return 'justStarted';
    if (this.#looked === undefined || live.length + starting === 0) return undefined;
    const { due, ...looked } = this.#looked;
    const atWork = live.length + starting;
    const known = due + this.#inserted;
    if (wantedWorkers({ ...looked, due: known }, atWork, this.#settings).workers > atWork) return undefined;
    // All places may be taken for long: not known without a look, and soon enough by another.
    const isLongAgo = now - this.#lookedAt >= this.#settings.startWithinMs / 2;
    if (isLongAgo && known > atWork * this.#settings.concurrency) return undefined;
    return starting > 0 ? 'justStarted' : 'atWork';
  }

  /**
   * A permit stays in the row when its worker dies, until its room is needed:
   * so the sessions say who is at work. Each is read once in its TTL.
   */
  async #liveHolders(permits: SemaphoreRecord | undefined, now: number): Promise<SemaphoreRecord['holders']> {
    const holders = permits?.holders ?? [];
    for (const [id, until] of this.#aliveUntil) if (until <= now) this.#aliveUntil.delete(id);
    const unknown = holders.map(({ session }) => session).filter((id) => !this.#aliveUntil.has(id));
    if (unknown.length > 0) {
      const { maxClockSkewMs } = this.#settings;
      const sessions = await this.#ports.sessions.getMany(unknown, (_, error) => this.#ports.onDamaged(error));
      for (const [id, session] of sessions) {
        const verdict = judgeSession(session, now, maxClockSkewMs);
        if (verdict.kind === 'live') this.#aliveUntil.set(id, verdict.until ?? Infinity);
      }
    }
    return holders.filter(({ session }) => this.#aliveUntil.has(session));
  }

  /** Rows of the first of them that are due; undefined when all are for later, parked or taken. */
  async #firstDue(ids: readonly string[], now: number): Promise<readonly TaskRecord[] | undefined> {
    const { queue } = this.#settings;
    const { tasks, onDamaged } = this.#ports;
    for (let at = 0; at < ids.length; at += ROWS_AT_A_TIME) {
      const keys = ids.slice(at, at + ROWS_AT_A_TIME).map((id) => ({ queue, id }));
      const rows = await tasks.getMany(keys, onDamaged);
      const due = rows.filter((row) => row.state === 'ready' && row.readyAt <= now && !row.isParked);
      // An eventually consistent read may not show what was just inserted.
      if (due.length > 0 || rows.length < keys.length) return due;
    }
    return undefined;
  }
}

interface Look {
  readonly shards: number;
  readonly backlog: readonly PartitionBacklog[];
  readonly demand: Demand;
  readonly hints: readonly ReadyHint[];
  /** Ids that the index shows. */
  readonly shown: ReadonlySet<string>;
}

/**
 * A new worker might not see these tasks in the index, find nothing and leave. If not all that is due finds a slot,
 * it is told only of those that the index does not show, because the others have their turn.
 */
function idsToBeginWith(rows: readonly TaskRecord[], shown: ReadonlySet<string>, slots: number): readonly string[] {
  return rows.flatMap(({ id }) => (shown.size > slots && shown.has(id) ? [] : [id]));
}

function noStart(reason: NoStart): WakeReport {
  return { started: 0, failedStarts: 0, reason };
}
