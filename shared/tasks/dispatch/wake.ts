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
 * Where it leaves the tasks to workers that are there, it announces them: one write, which those with a free place see at once
 * (`tasks/task/announcement.ts`).
 * It never waits. What one look misses, because a worker was about to leave or because the index lags, the schedule finds.
 *
 * A waker remembers what it did last, so that wakes that follow each other
 * closely do not start a worker each. Memory is not needed for safety:
 * a second waker, or one that was just started, starts at most some workers that find no permit or no task, and leave.
 */
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SemaphoreRecord } from '../../coordination/semaphore/semaphore.ts';
import { CorruptItemError, StoreUnavailableError } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import { permitsHeld } from '../../coordination/semaphore/semaphore.ts';
import type { SemaphoreStore } from '../../coordination/semaphore/semaphore-store.ts';
import { judgeSession } from '../../session/session-record.ts';
import type { SessionStore } from '../../session/session-store.ts';
import { isAnnounceable, nextAnnouncement } from '../task/announcement.ts';
import type { QueueRecord, QueueStore } from '../task/queue-store.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { DispatchSettings, Workforce } from './dispatcher.ts';
import { dueIn, lookAtBacklog, startWorkers, workersSemaphore } from './dispatcher.ts';
import { planWorkers } from './plan.ts';

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

export interface WakerSettings extends DispatchSettings {
  readonly maxClockSkewMs: number;
}

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
}

/** A start shows in the permits within about this time: a cold start, and two requests. */
const START_MS = 1_000;
/** Inserted rows that are read at a time, until one is met that is due. */
const ROWS_AT_A_TIME = 25;
/** Another waker may be faster, once; what is lost then is a hint. */
const ANNOUNCEMENTS_TRIED = 2;
const ANNOUNCEMENT_BUDGET_MS = 1_000;

/** The waker of one queue. */
export class Waker {
  readonly #ports: WakerPorts;
  readonly #settings: WakerSettings;
  /** The last start, and the last token of the permits as it was then. */
  #start: { readonly at: number; readonly token: number | undefined } | undefined;
  /** Tasks inserted since the backlog was looked at last, and when that was. */
  #inserted = 0;
  #lookedAt = -Infinity;
  /** Sessions of workers that were found alive: until when that need not be asked again. */
  readonly #aliveUntil = new Map<string, number>();
  /** The queue's row as it was read or written last; undefined: not known. */
  #seen: QueueRecord | undefined;

  constructor(ports: WakerPorts, settings: WakerSettings) {
    this.#ports = ports;
    this.#settings = settings;
  }

  /** @param ids of the tasks that were inserted, of this queue */
  async wake(ids: readonly string[]): Promise<WakeReport> {
    const { queue } = this.#settings;
    const { runtime, semaphores, queues, workers } = this.#ports;
    const now = runtime.clock.now();
    this.#inserted += ids.length;
    const permits = await semaphores.get(workersSemaphore(queue));
    const live = await this.#liveHolders(permits, now);
    const reason = this.#reasonNotToLook(permits, live, now);
    if (live.length > 0) await this.#announce(ids, live.length, now);
    if (reason !== undefined) return noStart(reason);
    const inserted = live.length > 0 ? [] : await this.#firstDue(ids, now);
    if (inserted === undefined) return noStart('nothingDue');

    const record = await queues?.get(queue);
    if (record?.isPaused === true) return noStart('paused');
    this.#lookedAt = now;
    this.#inserted = 0;
    const { shards, backlog } = await lookAtBacklog(record, this.#ports, this.#settings);
    // The index may show them to one look and not to the next:
    // where nothing else waits, they are named to the worker, which would otherwise
    // find nothing and leave.
    const due = dueIn(backlog);
    const named = due > inserted.length ? [] : inserted;
    const unseen = {
      partition: { queue, priority: 'normal' as const, shard: 0 },
      due: Math.max(0, named.length - due),
    };
    const all = [...backlog, unseen];
    const plan = planWorkers(all, live.length, { ...this.#settings, shards });
    if (plan.length === 0) return noStart(live.length > 0 ? 'atWork' : 'nothingDue');
    this.#start = { at: now, token: await this.#tokenBeforeStart(permits) };
    const events = plan.map((homeShards, nth) =>
      nth === 0 && named.length > 0 ? { queue, homeShards, tasks: named } : { queue, homeShards },
    );
    return startWorkers(events, workers);
  }

  /** Workers that are there hear of the tasks, unless they are too many. What cannot be written is found by looks. */
  async #announce(ids: readonly string[], workers: number, now: number): Promise<void> {
    const { queues, runtime } = this.#ports;
    if (queues === undefined || !isAnnounceable(ids)) return;
    try {
      for (let tried = 0; tried < ANNOUNCEMENTS_TRIED; tried++) {
        // One that is paused, or not there, may be open by the next wake.
        const seen = this.#seen ?? (await queues.glance(this.#settings.queue));
        this.#seen = undefined;
        if (seen === undefined || seen.isPaused) return;
        const announcement = nextAnnouncement(seen.announced, ids, { workers, now });
        this.#seen = seen;
        if (announcement === undefined) return;
        const stamp = stampOf(runtime);
        const outcome = await queues.announce(seen, announcement, stamp, { budgetMs: ANNOUNCEMENT_BUDGET_MS });
        this.#seen = outcome.kind === 'applied' ? outcome.row : outcome.current;
        if (outcome.kind === 'applied') return;
      }
    } catch (error) {
      this.#seen = undefined;
      if (!(error instanceof StoreUnavailableError || error instanceof CorruptItemError)) throw error;
    }
  }

  /** The last token of the permits; `maxWorkers` is in effect from now on, which makes the row where there is none. */
  async #tokenBeforeStart(permits: SemaphoreRecord | undefined): Promise<number | undefined> {
    const { queue, maxWorkers } = this.#settings;
    if (permits?.declared === maxWorkers) return permits.leaseCounter;
    await this.#ports.workers.declareLimit();
    return (await this.#ports.semaphores.get(workersSemaphore(queue)))?.leaseCounter;
  }

  #reasonNotToLook(
    permits: SemaphoreRecord | undefined,
    live: SemaphoreRecord['holders'],
    now: number,
  ): NoStart | undefined {
    const limit = Math.min(this.#settings.maxWorkers, permits?.limit ?? Infinity);
    if (permitsHeld(live) >= limit) return 'full';
    const isUnderWay =
      this.#start !== undefined && isRecent(this.#start.at, now) && this.#start.token === permits?.leaseCounter;
    if (isUnderWay || live.some(({ since }) => isRecent(since, now))) return 'justStarted';
    const needMore = this.#inserted >= this.#settings.tasksPerWorker && !isRecent(this.#lookedAt, now);
    return live.length > 0 && !needMore ? 'atWork' : undefined;
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

  /** Ids of the first of them that are due; none when that is not known of any; undefined when all are for later, or taken. */
  async #firstDue(ids: readonly string[], now: number): Promise<readonly string[] | undefined> {
    const { queue } = this.#settings;
    const { tasks, onDamaged } = this.#ports;
    for (let at = 0; at < ids.length; at += ROWS_AT_A_TIME) {
      const keys = ids.slice(at, at + ROWS_AT_A_TIME).map((id) => ({ queue, id }));
      const rows = await tasks.getMany(keys, onDamaged);
      const due = rows.filter((row) => row.state === 'ready' && row.readyAt <= now && !row.isParked);
      // An eventually consistent read may not show what was just inserted.
      if (due.length > 0 || rows.length < keys.length) return due.map(({ id }) => id);
    }
    return undefined;
  }
}

function noStart(reason: NoStart): WakeReport {
  return { started: 0, failedStarts: 0, reason };
}

/** Clocks of workers may be ahead of ours. */
function isRecent(moment: number, now: number): boolean {
  return Math.abs(now - moment) < START_MS;
}
