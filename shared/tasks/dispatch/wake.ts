/**
 * Starts workers as soon as tasks are inserted into a queue, instead of at the next tick.
 *
 * A wake does the work of the next tick, only sooner.
 * It plans like the dispatcher (`plan.ts`), but does not record that it ran. The workers' permits decide which workers may run,
 * so a lost, late or repeated wake does no harm. It reads before it starts workers, and begins with the cheapest read:
 *   1. one consistent read of the workers' permits. It stops here if all permits are taken, or if the running workers suffice
 *     for the backlog that it read within the last seconds;
 *   2. without running workers, the inserted rows: delayed tasks start no worker;
 *   3. the backlog, like a tick; but not for a few tasks without running workers, which one worker serves that sees what else is due.
 * It never waits. If one read misses a task, because a worker was about to leave or because the index lags, the next tick finds it.
 *
 * A waker remembers its last actions, so that wakes in close succession do not start a worker each.
 * Each shard of the stream has its own waker. Before a waker starts workers, it replaces the note in the queue's row by its own,
 * on condition that the note is the one it read. If another waker was faster, it counts that waker's starts first.
 * Safety does not depend on these notes: without them, more workers start.
 *
 * Where short tasks come one by one, a worker would start and leave for each. So a lone worker that follows another one, by the time of the
 * last start in the note, gets the option `stays`. Meanwhile the note names each task, and live workers read it often, so that a task
 * waits for the stream and not for the index.
 */
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Fleet } from '../../coordination/semaphore/fleet.ts';
import { wholeOf } from '../../coordination/semaphore/fleet.ts';
import type { SemaphoreRecord } from '../../coordination/semaphore/semaphore.ts';
import { permitsHeld } from '../../coordination/semaphore/semaphore.ts';
import type { SemaphoreStore } from '../../coordination/semaphore/semaphore-store.ts';
import { judgeSession } from '../../session/session-record.ts';
import type { SessionStore } from '../../session/session-store.ts';
import type { QueueRecord, QueueStore, StartsNote } from '../task/queue-store.ts';
import { COMES_AGAIN_MS } from '../task/queue-store.ts';
import type { ReadyEntry, TaskStore } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';
import type { DispatchSettings, WorkerStarter } from './dispatcher.ts';
import { readBacklog, startOf, startWorkers } from './dispatcher.ts';
import type { Demand, PartitionBacklog } from './demand.ts';
import { HeardTasks, INDEX_LAG_MS } from './heard-tasks.ts';
import { laneName } from '../task/lane.ts';
import { PendingStarts } from './pending-starts.ts';
import { homesOf, slicesOf, wantedWorkers } from './plan.ts';
import type { Planned } from './planning.ts';
import { plan } from './planning.ts';

interface WakerPorts {
  readonly tasks: Pick<TaskStore, 'page' | 'pageOfGroups' | 'getMany' | 'getKeys' | 'getTurns'>;
  readonly sessions: Pick<SessionStore, 'getMany'>;
  readonly semaphores: Pick<SemaphoreStore, 'parts'>;
  readonly queues?: QueueStore | undefined;
  readonly runtime: Runtime;
  readonly workers: Pick<WorkerStarter, 'startWorker' | 'declareLimit'>;
  /** Receives errors about unusable rows. The rows stay unchanged. */
  readonly onDamaged: (error: unknown) => void;
}

export type WakerSettings = DispatchSettings;

/** Why a wake started no worker. */
type NoStart =
  /** Workers that were just started suffice for the known demand, or will take the last permits. */
  | 'justStarted'
  /** Live workers hold all permits. */
  | 'full'
  /** Live workers suffice for the known demand. */
  | 'atWork'
  /** The inserted tasks are not due yet, or are already claimed. */
  | 'nothingDue'
  | 'paused';

export interface WakeReport {
  readonly started: number;
  readonly failedStarts: number;
  /** Present if no start was tried. */
  readonly reason?: NoStart;
  /** Present if the backlog was read. */
  readonly planned?: Planned;
}

/** How many inserted rows to read at a time, until a due one is found. */
const ROWS_AT_A_TIME = 25;
/** How many times a waker starts over because another one was faster. */
const NOTE_ATTEMPTS = 5;
/** All live workers try a noted task, so with more workers than this, most claims would be refused. */
const NOTED_FOR = 10;

/** The waker of one queue. */
export class Waker {
  readonly #ports: WakerPorts;
  readonly #settings: WakerSettings;
  readonly #starts = new PendingStarts();
  /** Demand at the last read of the backlog; undefined: none yet. */
  #checked: Demand | undefined;
  #lookedAt = -Infinity;
  #inserted = 0;
  readonly #heard = new HeardTasks();
  /** When to check the sessions of live workers again. */
  readonly #aliveUntil = new Map<string, number>();

  constructor(ports: WakerPorts, settings: WakerSettings) {
    this.#ports = ports;
    this.#settings = settings;
  }

  /** @param ids of the inserted tasks of this queue */
  async wake(ids: readonly string[]): Promise<WakeReport> {
    const { queue } = this.#settings;
    const { runtime, queues, workers } = this.#ports;
    const now = runtime.clock.now();
    this.#inserted += this.#heard.hear(ids, now);
    const permits = await this.#readPermits();
    const live = await this.#liveHolders(permits, now);
    const ownStarting = this.#starts.count(permits?.leaseCounter ?? 0, now);
    const reason = this.#reasonNotToRead(permits, live, ownStarting, now);
    if (reason !== undefined) {
      await this.#noteForWorkers(permits, live, now);
      return noStart(reason);
    }
    const rows = await this.#firstDue(ids, now);
    if (rows === undefined && live.length + ownStarting === 0) return noStart('nothingDue');

    const record = await queues?.get(queue);
    if (record?.isPaused === true) return noStart('paused');
    const isFirst = live.length + ownStarting === 0;
    const reading =
      (isFirst ? this.#fewTasks(ids, rows ?? [], record, now) : undefined) ?? (await this.#read(record, now));
    const { shards, backlog, shown } = reading;
    const decided = await this.#decide({ reading, rows: rows ?? [], record, permits, live });
    const { planned, missing, stays, reason: enough } = decided;
    this.#checked = decided.demand;
    this.#lookedAt = now;
    this.#inserted = 0;
    if (missing === 0) return { ...noStart(enough), planned };
    const { concurrency } = this.#settings;
    const slots = live.length > 0 ? planned.wanted * concurrency : (rows?.length ?? 0);
    const named = idsToBeginWith(rows ?? [], shown, slots);
    const homes = homesOf(backlog, missing, shards);
    const slices = slicesOf(homes);
    const events = homes.map((homeShards, nth) => {
      const tasks = named.slice(nth * concurrency, (nth + 1) * concurrency);
      return {
        ...startOf(queue, homeShards, slices[nth]),
        ...(tasks.length > 0 ? { tasks } : {}),
        ...(stays ? { stays } : {}),
      };
    });
    return { ...(await startWorkers(events, workers)), planned };
  }

  /** Reads the backlog and adds recent inserts, because the index may not show them yet, or not in every read. */
  async #read(record: QueueRecord | undefined, now: number): Promise<BacklogReading> {
    const { queue } = this.#settings;
    const { pages, shards, backlog, demand } = await readBacklog(record, this.#ports, this.#settings);
    const seen = pages.flatMap(({ hints }) => hints);
    const shown = new Set(seen.map(({ id }) => id));
    const unseen = this.#heard.recent(now).filter(({ id }) => !shown.has(id));
    return {
      shards,
      backlog,
      shown,
      hints: [...seen, ...unseen.map(({ id }) => ({ queue, id, readyAt: now }))],
      demand: { ...demand, due: demand.due + unseen.length },
    };
  }

  /**
   * Counts the recent inserts alone if one worker can serve them. Most starts are for a lone task, and a read of the backlog costs more than
   * the task. Only a read of the backlog shows a lane that the queue's row does not name.
   */
  #fewTasks(
    ids: readonly string[],
    rows: readonly TaskRecord[],
    record: QueueRecord | undefined,
    now: number,
  ): BacklogReading | undefined {
    const { queue, concurrency, shards } = this.#settings;
    const recent = new Set([...ids, ...this.#heard.recent(now).map(({ id }) => id)]);
    const areLanesKnown = rows.every((row) => {
      const isOfGroups = row.state === 'ready' && row.isInGroup;
      return record?.lanes?.has(laneName({ priority: row.priority, isOfGroups })) === true;
    });
    if (rows.length === 0 || recent.size > concurrency || !areLanesKnown) return undefined;
    return {
      shards: Math.max(shards, record?.shards ?? 0),
      backlog: [],
      shown: new Set(),
      hints: [...recent].map((id) => ({ queue, id, readyAt: now })),
      demand: { due: recent.size, late: 0, tookMs: record?.tookMs },
    };
  }

  /**
   * Plans, and notes the starts and the inserted tasks in the queue's row for other wakers.
   * If another waker was faster, its starts and its tasks are counted first.
   */
  async #decide({ reading, rows, record, ...first }: Situation): Promise<Decision> {
    const { queue } = this.#settings;
    const { runtime } = this.#ports;
    const settings = { ...this.#settings, shards: reading.shards };
    let { permits, live } = first;
    let observed = record?.starts;
    for (let attempt = 1; ; attempt++) {
      this.#starts.learn(observed);
      const now = runtime.clock.now();
      const starting = this.#starts.count(permits?.leaseCounter ?? 0, now);
      const holders = live.map(({ session }) => session);
      const others = this.#heardByOthers(reading.shown, now);
      const demand = { ...reading.demand, due: reading.demand.due + others.count };
      const hints = [...reading.hints, ...others.ids.map((id) => ({ queue, id, readyAt: now }))];
      const comeOneByOne = this.#areFewFor(live, now);
      const situation = { demand, hints, rows, record, holders, starting, comeOneByOne };
      const found = await plan(situation, this.#ports, settings);
      const missing = Math.max(0, found.planned.wanted - live.length - starting);
      const stays = missing === 1 && live.length + starting === 0 && this.#starts.wereWithin(COMES_AGAIN_MS, now);
      const decision = { ...found, missing, stays, reason: reasonOf(live.length, starting) };
      const isToNote = this.#starts.areRecent(now) || comeOneByOne;
      if (missing === 0 && (!isToNote || this.#heard.unnoted(now).length === 0)) return decision;
      const token = missing === 0 ? (permits?.leaseCounter ?? 0) : await this.#tokenBeforeStart(permits);
      observed = await this.#note({ observed, missing, token, now });
      if (observed === undefined || attempt === NOTE_ATTEMPTS) return decision;
      permits = await this.#readPermits();
      live = await this.#liveHolders(permits, now);
    }
  }

  /**
   * Replaces the note by one that counts the workers to start, and names the tasks that are not in a note yet.
   * @returns the note of another waker that was faster
   */
  async #note({ observed, missing, token, now }: Note): Promise<StartsNote | undefined> {
    const { runtime, queues } = this.#ports;
    const unnoted = this.#heard.unnoted(now);
    const ids = unnoted.map(({ id }) => id);
    const stamp = stampOf(runtime);
    const starts = { ...this.#starts.plus(missing, token, now, ids), nonce: stamp.nonce };
    const outcome = await queues?.noteStarts(this.#settings.queue, observed, starts, stamp);
    const current = outcome?.kind === 'refused' ? outcome.current?.starts : undefined;
    const isOurs = outcome?.kind === 'applied' || current?.nonce === stamp.nonce;
    if (isOurs) for (const one of unnoted) one.isNoted = true;
    if (current !== undefined && !isOurs) return current;
    this.#starts.learn(starts);
    return undefined;
  }

  /** Notes tasks that come one by one for the live workers, which read the note sooner than the index shows the tasks. */
  async #noteForWorkers(permits: Fleet | undefined, live: SemaphoreRecord['holders'], now: number): Promise<void> {
    const token = permits?.leaseCounter ?? 0;
    let observed = this.#starts.note;
    for (let attempt = 1; observed !== undefined && attempt <= NOTE_ATTEMPTS; attempt++) {
      if (!this.#areFewFor(live, now) || this.#heard.unnoted(now).length === 0) return;
      observed = await this.#note({ observed, missing: 0, token, now });
      this.#starts.learn(observed);
    }
  }

  /** Whether tasks come one by one, and few live workers would compete for them. */
  #areFewFor(live: SemaphoreRecord['holders'], now: number): boolean {
    const isFew = live.length > 0 && live.length <= NOTED_FOR;
    return isFew && this.#starts.comeOneByOne(this.#heard.unnoted(now).length, now);
  }

  /** Tasks that wakers of other shards have noted and that the index does not show yet: their estimated number, and some of their ids. */
  #heardByOthers(shown: ReadonlySet<string>, now: number): { readonly count: number; readonly ids: readonly string[] } {
    const own = this.#heard.ids;
    const noted = this.#starts.heardSince(now - INDEX_LAG_MS).filter(({ ids }) => !ids.some((id) => own.has(id)));
    const unseen = noted.map(({ count, ids }) => {
      const hidden = ids.filter((id) => !shown.has(id));
      return { count: (count * hidden.length) / ids.length, ids: hidden };
    });
    return { count: unseen.reduce((all, { count }) => all + count, 0), ids: unseen.flatMap(({ ids }) => ids) };
  }

  async #readPermits(): Promise<Fleet | undefined> {
    return wholeOf(await this.#ports.semaphores.parts(this.#settings.queue, { consistent: true }));
  }

  /** Returns the last token of the permits, after setting their limit to `maxWorkers`, which creates a missing row. */
  async #tokenBeforeStart(permits: Fleet | undefined): Promise<number> {
    const { maxWorkers } = this.#settings;
    if (permits?.declared === maxWorkers && permits.isDealt) return permits.leaseCounter;
    await this.#ports.workers.declareLimit();
    return (await this.#readPermits())?.leaseCounter ?? 0;
  }

  /**
   * Returns the reason not to read the backlog, if live or starting workers suffice for the last known demand and the tasks inserted since
   * then.
   */
  #reasonNotToRead(
    permits: SemaphoreRecord | undefined,
    live: SemaphoreRecord['holders'],
    starting: number,
    now: number,
  ): NoStart | undefined {
    const limit = Math.min(this.#settings.maxWorkers, permits?.limit ?? Infinity);
    if (permitsHeld(live) >= limit) return 'full';
    if (live.length + starting >= limit) return 'justStarted';
    if (this.#checked === undefined || live.length + starting === 0) return undefined;
    const { due, ...checked } = this.#checked;
    const atWork = live.length + starting;
    const demand = { ...checked, due: due + this.#inserted };
    const comeOneByOne = this.#areFewFor(live, now);
    if (wantedWorkers(demand, atWork, this.#settings, comeOneByOne).workers > atWork) return undefined;
    // Only a read of the backlog shows the tasks of other wakers.
    if (this.#starts.areRecent(now) && this.#heard.unnoted(now).length > 0) return undefined;
    if (starting > 0) return 'justStarted';
    return now - this.#lookedAt >= this.#settings.startWithinMs / 2 ? undefined : 'atWork';
  }

  /**
   * After a crash, the worker's permit stays in the row until its capacity is needed,
   * so sessions show which workers are live. Each session is read once per TTL.
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

  /** Returns rows of the first due tasks; undefined if all are delayed or claimed. */
  async #firstDue(ids: readonly string[], now: number): Promise<readonly TaskRecord[] | undefined> {
    const { queue } = this.#settings;
    const { tasks, onDamaged } = this.#ports;
    for (let at = 0; at < ids.length; at += ROWS_AT_A_TIME) {
      const keys = ids.slice(at, at + ROWS_AT_A_TIME).map((id) => ({ queue, id }));
      const rows = await tasks.getMany(keys, onDamaged);
      const due = rows.filter((row) => row.state === 'ready' && row.readyAt <= now);
      // An eventually consistent read may miss tasks that were just inserted.
      if (due.length > 0 || rows.length < keys.length) return due;
    }
    return undefined;
  }
}

interface Situation {
  readonly reading: BacklogReading;
  /** Rows that have been read already. */
  readonly rows: readonly TaskRecord[];
  readonly record: QueueRecord | undefined;
  readonly permits: Fleet | undefined;
  readonly live: SemaphoreRecord['holders'];
}

interface Note {
  readonly observed: StartsNote | undefined;
  readonly missing: number;
  readonly token: number;
  readonly now: number;
}

interface Decision {
  readonly planned: Planned;
  readonly demand: Demand;
  /** Workers to start. */
  readonly missing: number;
  /** Whether the worker to start stays a little, because tasks come one by one. */
  readonly stays: boolean;
  /** Why no worker is started, if enough are live. */
  readonly reason: NoStart;
}

interface BacklogReading {
  readonly shards: number;
  readonly backlog: readonly PartitionBacklog[];
  readonly demand: Demand;
  readonly hints: readonly ReadyEntry[];
  /** Ids that the index shows. */
  readonly shown: ReadonlySet<string>;
}

/**
 * A new worker might not see these tasks in the index, find nothing and exit. If there are more due tasks than slots,
 * it gets only the ids that the index does not show yet, because the other tasks must wait for their turn.
 */
function idsToBeginWith(rows: readonly TaskRecord[], shown: ReadonlySet<string>, slots: number): readonly string[] {
  return rows.flatMap(({ id }) => (shown.size > slots && shown.has(id) ? [] : [id]));
}

function reasonOf(live: number, starting: number): NoStart {
  if (live > 0) return 'atWork';
  return starting > 0 ? 'justStarted' : 'nothingDue';
}

function noStart(reason: NoStart): WakeReport {
  return { started: 0, failedStarts: 0, reason };
}
