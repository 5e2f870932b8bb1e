/**
 * Selects the tasks behind index entries that one worker may try.
 *
 * The index only proposes; the task's row decides. Rows are read in one batch. Tasks that are checked out here or that
 * a live session holds are left out. A task of an expired session may be taken over; expired sessions are ended on the way.
 * Tasks that are left out are not read again for a while.
 */
import { ClockSkewError, StoreUnavailableError } from '../../core/errors.ts';
import type { SkewGauge } from '../../core/lease/skew.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import { shuffled } from '../../core/runtime/random.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import { inFlight } from '../../core/runtime/in-flight.ts';
import type { SessionVerdict } from '../../session/session-contender.ts';
import { settleSession } from '../../session/session-contender.ts';
import type { SessionRecord } from '../../session/session-record.ts';
import type { SessionStore } from '../../session/session-store.ts';
import { parentOf } from '../task/batch.ts';
import type { Lane } from '../task/lane.ts';
import type { LinePlace } from '../task/line.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { CancelledTask, ReadyTask, RunningTask, TaskKey, TaskRecord } from '../task/task.ts';
import type { Linked, Waiting } from './key-capacity.ts';
import { KeyCapacity } from './key-capacity.ts';
import type { LinePorts } from './line-turns.ts';
import { LineTurns } from './line-turns.ts';
import type { ReadQuery } from './partition-source.ts';
import { FRESH_MS, HELD_RECHECK_MS, JOINS_AT_ONCE, PAGE_ENTRIES, PAGE_MAX_AGE_MS } from './tuning.ts';

/**
 * `ready`      claim it; if a task of its key has just freed a slot here, without reading the key's row.
 * `abandoned`  its holder's session has expired: take it over.
 * `adopted`    we already hold it, but do not run it: the response to our claim was lost.
 */
export type Found =
  | { readonly kind: 'ready'; readonly task: ReadyTask; readonly expectsCapacity?: true }
  | { readonly kind: 'abandoned'; readonly task: RunningTask }
  | { readonly kind: 'adopted'; readonly task: RunningTask };

/** Candidates among some entries, and the number of entries whose tasks other workers have taken. */
export interface Choice {
  readonly found: readonly Found[];
  readonly taken: number;
}

export interface CandidatePorts extends LinePorts {
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
  readonly gauge: SkewGauge;
  /** Reports rows that cannot be decoded and sessions with an implausible expiry. Both are skipped. */
  readonly onDamaged: (error: unknown) => void;
  /** Whether the worker tries it without other tasks alongside. */
  readonly isTriedAlone: (found: Found) => boolean;
  /** Called after tasks were moved to the others of their keys: the lane in which they stand now. */
  readonly onJoined?: ((lane: Lane) => void) | undefined;
  /** Our clock is too wrong to take anything over. */
  readonly onSkewed: (error: ClockSkewError) => void;
}

export class Candidates {
  /** Keys at capacity, and keys that may have capacity. */
  readonly places: KeyCapacity;
  /** The turns of lines. */
  readonly turns: LineTurns;

  readonly #session: string;
  readonly #maxClockSkewMs: number;
  readonly #ports: CandidatePorts;
  /** Checked-out tasks: proposed, being claimed, or running here. They are not proposed again. */
  readonly #inHand = new Set<string>();
  /** Tasks that are not available to us, and the time before which they are not read again. */
  readonly #heldUntil = new Map<string, number>();
  /** Live sessions, and the time before which each is not read again. */
  readonly #live = new Map<string, { readonly until: number; readonly recheckAt: number }>();
  /** For each read in flight: parents whose children have ended here since it began. It may return an old state of these parents. */
  readonly #calledWhileReading = new Set<Set<string>>();
  readonly #joining = inFlight(JOINS_AT_ONCE);
  #hasCalledBack = false;

  constructor(
    {
      session,
      queue,
      maxClockSkewMs,
      heartbeatMs,
      part,
    }: {
      readonly session: string;
      readonly queue: string;
      readonly maxClockSkewMs: number;
      readonly heartbeatMs: number;
      /** The part of the queue that the worker serves. */
      readonly part: number;
    },
    ports: CandidatePorts,
  ) {
    this.places = new KeyCapacity(queue, ports, {
      part,
      heartbeatMs,
      isWorthReading: (key) => this.isWorthReading(key),
    });
    this.turns = new LineTurns(queue, ports);
    this.#session = session;
    this.#maxClockSkewMs = maxClockSkewMs;
    this.#ports = ports;
  }

  /** Whether nothing is proposed, being claimed, or running here. */
  get areNone(): boolean {
    return this.#inHand.size === 0;
  }

  /**
   * Returns the tasks that may be tried, and checks them out.
   * @param claimedBefore tasks that were claimed later are assumed live, and their sessions are not read
   * @param after what must be read besides their rows
   */
  async choose(hints: readonly TaskKey[], claimedBefore = Infinity, after?: Promise<void>): Promise<Choice> {
    if (hints.length === 0) return { found: [], taken: 0 };
    const called = new Set<string>();
    this.#calledWhileReading.add(called);
    try {
      return await this.#choose(hints, claimedBefore, after);
    } finally {
      this.#calledWhileReading.delete(called);
      for (const name of called) this.#heldUntil.delete(name);
    }
  }

  async #choose(hints: readonly TaskKey[], claimedBefore: number, after?: Promise<void>): Promise<Choice> {
    const { tasks, runtime, onDamaged, isTriedAlone } = this.#ports;
    const [rows] = await Promise.all([tasks.getMany(hints, onDamaged), after]);
    const running = rows.filter((row) => row.state === 'running');
    for (const task of running) if (task.claimedAt >= claimedBefore) this.skip(task);
    const abandoned = await this.#findAbandoned(running.filter(({ claimedAt }) => claimedAt < claimedBefore));
    const now = runtime.clock.now();
    this.#noteRunners(rows, abandoned);
    const due = rows.filter((row): row is ReadyTask => row.state === 'ready' && row.readyAt <= now);
    const over = rows.filter((row): row is CancelledTask => row.state === 'cancelled' && row.isInLine);
    await this.turns.read([...due, ...over].flatMap(({ links }) => links?.line ?? []));
    const ready = due.filter(({ links }) => this.turns.hasTurn(links?.line));
    const afterPassed = await this.turns.passEach(over);
    // Tasks of a key at capacity do not block the tasks behind them.
    const full = ready.filter((task) => !this.places.mayHaveRoom(task));
    for (const task of full) if (!this.#inHand.has(nameOf(task))) this.postponeBriefly(task);
    await this.joinGroups(full);
    const free = ready.filter((task) => !full.includes(task)).map((task): Found => ({ kind: 'ready', task }));
    // Tasks of crashed workers come first, because they have waited longest. A task that must run alone would block new tasks
    // while it waits for the running ones, so it gets no precedence while other tasks run.
    const isFirst = (one: Found): boolean => this.areNone || !isTriedAlone(one);
    const found: readonly Found[] = [
      ...abandoned.filter(isFirst),
      ...shuffled(runtime.random, [...free, ...abandoned.filter((one) => !isFirst(one))]),
    ];
    // A concurrent proposal may have checked out one of them while rows were read.
    const candidates = found.filter(({ task }) => !this.#inHand.has(nameOf(task)));
    for (const { task } of candidates) this.#inHand.add(nameOf(task));
    for (const hint of hints) if (this.isWorthReading(hint)) this.#heldUntil.set(nameOf(hint), now + FRESH_MS);
    const more = afterPassed.length === 0 ? [] : (await this.#choose(afterPassed, claimedBefore)).found;
    return { found: [...candidates, ...more], taken: hints.length - due.length - abandoned.length };
  }

  isWorthReading(hint: TaskKey): boolean {
    const name = nameOf(hint);
    return !this.#inHand.has(name) && (this.#heldUntil.get(name) ?? 0) <= this.#ports.runtime.clock.now();
  }

  /** Which of a partition's entries are worth reading. */
  worthOf(partition: string): Pick<ReadQuery, 'isWorthReading' | 'onPage' | 'turnOf' | 'lookAt' | 'admit'> {
    return {
      isWorthReading: (hint) =>
        this.isWorthReading(hint) && (hint.limit === undefined || !this.places.isPassed(hint.limit)),
      onPage: this.turns.see.bind(this.turns),
      turnOf: (place) => this.turns.turnOf(place),
      lookAt: (entry) => this.places.lookAt(partition, entry),
      admit: async (entries) => {
        await this.turns.read(entries.flatMap(({ hint }) => hint.line ?? []));
        const first = entries.filter(({ hint }) => this.turns.hasTurn(hint.line));
        return this.places.withRoom(partition, first);
      },
    };
  }

  /** Checks a task in again that was not tried, or that has finished here. */
  putBack(key: TaskKey): void {
    this.#inHand.delete(nameOf(key));
  }

  /** Skips a task for a while, by default for `HELD_RECHECK_MS`. */
  skip(key: TaskKey, forMs = HELD_RECHECK_MS): void {
    this.#heldUntil.set(nameOf(key), this.#ports.runtime.clock.now() + forMs);
  }

  /** Notes that another worker was faster to claim it, or to take the last slot of its key. */
  lost({ kind, task }: Pick<Found, 'kind' | 'task'>): void {
    if (kind !== 'ready' || task.links?.concurrency === undefined) {
      this.skip(task);
      return;
    }
    this.places.loseSlot(task);
    this.postpone(task);
  }

  /** Postpones a task whose key may be at capacity, until the key is worth another try, but only for a while. */
  postpone(task: Waiting, forMs = HELD_RECHECK_MS): void {
    this.skip(task, forMs);
    this.places.postpone(task, forMs);
  }

  /**
   * Postpones a task of a key at capacity. Only the first few of a key's waiting tasks are read again, so a flood of tasks with
   * one key costs one read per row. While its row is fresh, the task may also get the next slot that is freed here.
   */
  postponeBriefly(task: ReadyTask): void {
    this.postpone(task, PAGE_MAX_AGE_MS);
    this.places.remember(task);
  }

  /** Returns the next task for the slot that this task has freed, and checks it out. */
  nextOfKey(left: Linked): readonly Found[] {
    const task = this.places.nextOf(left, (one) => !this.#inHand.has(nameOf(one)));
    if (task === undefined) return [];
    this.#inHand.add(nameOf(task));
    return [{ kind: 'ready', task, expectsCapacity: true }];
  }

  /** Notes that a task has ended here: its key may have capacity, and its waiting parent may be due. */
  ended(task: Linked): void {
    this.places.ended(task);
    if (task.links?.batch === undefined) return;
    const parent = parentOf(task.links.batch);
    this.#heldUntil.delete(parent);
    for (const called of this.#calledWhileReading) called.add(parent);
  }

  /** Returns the first few postponed tasks of its key that may be tried and that no other worker has taken. */
  async calledBack(task: Linked): Promise<readonly Found[]> {
    for (;;) {
      const keys = this.places.callBack(task);
      if (keys.length === 0) return [];
      const { found, taken } = await this.choose(keys);
      if (found.length > 0 || taken < keys.length) return found;
    }
  }

  /**
   * Does the same for a key that may have capacity because one of its tasks has ended in another worker. Every second call returns
   * nothing if there are many such keys, so that they leave time for polls of the index. Once a heartbeat, known running tasks go first.
   */
  async calledBackInTurn(): Promise<readonly Found[]> {
    const abandoned = this.places.runners.isCheckDue ? await this.abandonedRunners() : [];
    if (abandoned.length > 0) return abandoned;
    const keys = this.#hasCalledBack ? [] : this.places.callBackInTurn();
    this.#hasCalledBack = keys.length > 0;
    return (await this.choose(keys)).found;
  }

  /**
   * Moves tasks of full keys to the others of their key, unless they stand there already. Workers walk past them until the key has capacity.
   * Best effort: a task that is not moved is met again where it stands.
   */
  async joinGroups(tasks: readonly ReadyTask[]): Promise<void> {
    const apart = tasks.filter((task) => {
      const limit = task.links?.line === undefined ? task.links?.concurrency : undefined;
      return limit !== undefined && !task.isInGroup && this.places.isFull(limit);
    });
    const moves = await Promise.allSettled(
      apart.map((task) => this.#joining(() => this.#ports.tasks.join(task, stampOf(this.#ports.runtime)))),
    );
    for (const [at, move] of moves.entries()) {
      const task = apart[at];
      if (move.status === 'rejected' && !(move.reason instanceof StoreUnavailableError)) throw move.reason;
      if (move.status === 'rejected' || task === undefined) continue;
      // It is met again where it stands now.
      this.places.unpostpone(task);
      this.skip(task, FRESH_MS);
    }
    for (const { priority } of apart) this.#ports.onJoined?.({ priority, isOfGroups: true });
  }

  /** Returns the next task of the line of a task that has ended here, if it may be tried. */
  async nextInLine(left: LinePlace, next: TaskKey): Promise<readonly Found[]> {
    return (await this.choose([next], Infinity, this.turns.readNow(left))).found;
  }

  /** Returns the running tasks of full keys whose sessions have ended. Only the rows of these tasks are read. */
  async abandonedRunners(): Promise<readonly Found[]> {
    const due = this.places.runners.check();
    if (due.length === 0) return [];
    const unconfirmed = due.filter(({ isConfirmed }) => !isConfirmed).map(({ task }) => task);
    const confirmed = due.filter(({ isConfirmed }) => isConfirmed).map(({ task }) => task);
    const standings = await this.#standingsOf(new Set(confirmed.map(({ session }) => session)));
    for (const task of confirmed) {
      const heldUntil = standings.get(task.session);
      if (heldUntil !== undefined) this.#heldUntil.set(nameOf(task), heldUntil);
    }
    const ended = confirmed.filter(({ session }) => !standings.has(session));
    return (await this.choose([...ended, ...unconfirmed].slice(0, PAGE_ENTRIES))).found;
  }

  forgetHeld(): void {
    const now = this.#ports.runtime.clock.now();
    for (const [name, until] of this.#heldUntil) if (until <= now) this.#heldUntil.delete(name);
    for (const [id, { recheckAt }] of this.#live) if (recheckAt <= now) this.#live.delete(id);
    this.places.forget();
    this.turns.forget();
  }

  /** Notes which tasks of full keys run, and under which sessions. */
  #noteRunners(rows: readonly TaskRecord[], abandoned: readonly Found[]): void {
    const ended = new Set(abandoned.map(({ task }) => nameOf(task)));
    for (const row of rows) {
      const key = row.links?.concurrency?.key;
      if (key === undefined) continue;
      // A task that runs here counts already, as tried.
      const isElsewhere = row.state === 'running' && !this.#inHand.has(nameOf(row)) && !ended.has(nameOf(row));
      if (isElsewhere) this.places.runners.know(key, row);
      else this.places.runners.forgetOne(key, row);
    }
  }

  /** Returns the running tasks whose holders have expired, and ends expired sessions on the way. */
  async #findAbandoned(running: readonly RunningTask[]): Promise<Found[]> {
    const mine = running.filter(({ session }) => session === this.#session);
    const foreign = running.filter(({ session }) => session !== this.#session);
    const standings = await this.#standingsOf(new Set(foreign.map(({ session }) => session)));
    const now = this.#ports.runtime.clock.now();
    const free = foreign.filter((task) => {
      const heldUntil = standings.get(task.session);
      if (heldUntil === undefined) return true;
      // A worker that has held a task for long will probably hold it for as long again, but may hand it back earlier.
      const recheckAt = now + Math.max(HELD_RECHECK_MS, (now - task.claimedAt) / 2);
      this.#heldUntil.set(nameOf(task), Math.min(heldUntil, recheckAt));
      return false;
    });
    return [...free.map((task) => ({ kind: 'abandoned', task }) as const), ...(await this.#findAdopted(mine))];
  }

  /** Returns, for each session, the time before which it is not read again. A session without an entry has released its tasks. */
  async #standingsOf(ids: ReadonlySet<string>): Promise<Map<string, number>> {
    const { clock } = this.#ports.runtime;
    const heldUntil = new Map<string, number>();
    for (const id of ids) {
      const live = this.#live.get(id);
      if (live !== undefined && clock.now() < live.recheckAt) heldUntil.set(id, live.until);
    }
    const unknown = [...ids].filter((id) => !heldUntil.has(id));
    if (unknown.length === 0) return heldUntil;
    // Tasks of a session with a damaged row wait for an operator; other tasks are not affected.
    const records = await this.#ports.sessions.getMany(unknown, (id, error) => {
      this.#ports.onDamaged(error);
      heldUntil.set(id, Infinity);
    });
    for (const id of unknown) {
      if (heldUntil.has(id)) continue;
      const standing = await this.#settle(records.get(id));
      if (standing.kind === 'free') continue;
      if (standing.kind === 'damaged')
        this.#ports.onDamaged(new Error(`session ${id} has an implausible expiry; its tasks wait`));
      const until = (standing.kind === 'damaged' ? null : standing.until) ?? Infinity;
      heldUntil.set(id, until);
      this.#live.set(id, { until, recheckAt: Math.min(until, clock.now() + HELD_RECHECK_MS) });
    }
    return heldUntil;
  }

  /** If our clock is proven wrong, we end no sessions. Tasks whose claim does not depend on another session still run. */
  async #settle(session: SessionRecord | undefined): Promise<SessionVerdict> {
    try {
      return await settleSession(session, this.#ports, this.#maxClockSkewMs);
    } catch (error) {
      if (!(error instanceof ClockSkewError)) throw error;
      this.#ports.onSkewed(error);
      return { kind: 'live', until: this.#ports.runtime.clock.now() + HELD_RECHECK_MS };
    }
  }

  /**
   * The batch read may be stale and show a task that we have just finished, so each task is read again, strongly consistent.
   * Tasks that are checked out when the read begins are left out, because they may end before the response arrives.
   */
  async #findAdopted(mine: readonly RunningTask[]): Promise<Found[]> {
    const unknown = mine.filter((task) => !this.#inHand.has(nameOf(task)));
    const rows = await allOf(unknown.map((task) => this.#ports.tasks.get(task)));
    return rows
      .filter((row) => row !== undefined)
      .flatMap((row) => (this.#isMine(row) ? [{ kind: 'adopted', task: row } as const] : []));
  }

  #isMine(row: TaskRecord): row is RunningTask {
    return row.state === 'running' && row.session === this.#session && !this.#inHand.has(nameOf(row));
  }
}

/** A key within one queue. */
function nameOf(key: TaskKey): string {
  return key.id;
}
