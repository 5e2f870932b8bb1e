/**
 * `Rows` turns hints into candidates: it reads the rows of tasks, and says which of them this worker may try.
 *
 * Hints may be stale; the row decides what is proposed, and the condition of the claim decides what happens. Left out are tasks that are
 * checked out here, that a live session holds, whose key is full, whose turn has not come, or whose tenant is paused. Each is skipped for a
 * while.
 * A task of an expired session may be taken over; expired sessions are ended on the way.
 */
import { ClockSkewError, StoreUnavailableError } from '../../core/errors.ts';
import type { SkewGauge } from '../../core/lease/skew.ts';
import { stampOf } from '../../core/lease/write.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import type { SessionVerdict } from '../../session/session-contender.ts';
import { settleSession } from '../../session/session-contender.ts';
import type { SessionRecord } from '../../session/session-record.ts';
import type { SessionStore } from '../../session/session-store.ts';
import { laneName } from '../task/lane.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { CancelledTask, ReadyTask, RunningTask, TaskKey } from '../task/task.ts';
import type { Found } from './candidate.ts';
import type { Hint } from './partition.ts';
import { FRESH_MS, HELD_RECHECK_MS } from './tuning.ts';
import type { WaitPorts } from './waits.ts';
import { Keys } from './waits.ts';
import { Lines } from './lines.ts';

export interface RowsPorts extends WaitPorts {
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
  readonly gauge: SkewGauge;
  /** Reports rows that cannot be decoded and sessions with an implausible expiry. Both are skipped. */
  readonly onDamaged: (error: unknown) => void;
  /** Our clock is too wrong to take anything over. */
  readonly onSkewed: (error: ClockSkewError) => void;
  readonly isPaused: (tenant: string | undefined) => boolean;
  /** Whether the worker tries it without other tasks alongside. */
  readonly isTriedAlone: (found: Found) => boolean;
}

export interface RowsSettings {
  readonly queue: string;
  readonly heartbeatMs: number;
  readonly maxClockSkewMs: number;
}

/** What became of some hints. */
export interface Choice {
  /** Tasks that may be tried. They are checked out. */
  readonly found: readonly Found[];
  /** Tasks that are not due yet. */
  readonly later: readonly ReadyTask[];
  /** How many others have taken, or end no more. */
  readonly taken: number;
}

export class Rows {
  readonly keys: Keys;
  readonly lines: Lines;
  /** Names of the lanes in which tasks stand that were read here. */
  readonly lanes = new Set<string>();
  readonly #session: string;
  readonly #maxClockSkewMs: number;
  readonly #ports: RowsPorts;
  /** Checked-out tasks: proposed, being claimed, or running here. */
  readonly #inHand = new Set<string>();
  /** Tasks that are not read before a monotonic time. */
  readonly #skipUntil = new Map<string, number>();
  /** The same for tasks of lines, as long as their turn is not known to have come. */
  readonly #earlyUntil = new Map<string, number>();
  /** Live sessions, and the wall clock before which each is not read again. */
  readonly #live = new Map<string, { readonly until: number; readonly recheckAt: number }>();

  constructor(session: string, { queue, heartbeatMs, maxClockSkewMs }: RowsSettings, ports: RowsPorts) {
    this.#session = session;
    this.#maxClockSkewMs = maxClockSkewMs;
    this.#ports = ports;
    this.keys = new Keys(queue, heartbeatMs, ports);
    this.lines = new Lines(queue, ports);
  }

  /** Whether nothing is proposed, being claimed, or running here. */
  get areNone(): boolean {
    return this.#inHand.size === 0;
  }

  isWorthReading({ id, line }: Hint): boolean {
    if (this.#inHand.has(id) || (this.#skipUntil.get(id) ?? 0) > this.#now) return false;
    if (this.lines.hasTurn(line)) return true;
    return (this.#earlyUntil.get(id) ?? 0) <= this.#now && this.lines.mayHaveTurn(line);
  }

  skip({ id }: TaskKey, forMs: number): void {
    this.#skipUntil.set(id, Math.max(this.#skipUntil.get(id) ?? 0, this.#now + forMs));
  }

  putBack({ id }: TaskKey): void {
    this.#inHand.delete(id);
  }

  /** @returns whether it was not checked out already */
  checkOut({ id }: TaskKey): boolean {
    const isIn = !this.#inHand.has(id);
    this.#inHand.add(id);
    return isIn;
  }

  /**
   * Reads tasks, and checks out those that may be tried: first those of crashed workers, then in the order given.
   * @param isOnlyAbandoned tasks that are left out if they wait
   */
  async choose(hints: readonly TaskKey[], isOnlyAbandoned: (task: TaskKey) => boolean = () => false): Promise<Choice> {
    if (hints.length === 0) return { found: [], later: [], taken: 0 };
    const keys = [...new Map(hints.map((hint) => [hint.id, hint])).values()];
    const { tasks, runtime, onDamaged, isTriedAlone } = this.#ports;
    const order = new Map(hints.map(({ id }, at) => [id, at]));
    const read = await tasks.getMany(keys, onDamaged);
    const rows = read.toSorted((one, other) => (order.get(one.id) ?? 0) - (order.get(other.id) ?? 0));
    const abandoned = await this.#findAbandoned(rows.filter((row) => row.state === 'running'));
    this.keys.note(rows, (row) => !this.#inHand.has(row.id) && !abandoned.some(({ task }) => task.id === row.id));
    const now = runtime.clock.now();
    const waiting = rows.filter((row) => row.state === 'ready');
    const [due, later] = [
      waiting.filter(({ readyAt }) => readyAt <= now),
      waiting.filter(({ readyAt }) => readyAt > now),
    ];
    for (const task of waiting) this.#standsIn(task);
    const over = rows.filter((row): row is CancelledTask => row.state === 'cancelled' && row.isInLine);
    await this.lines.read([...due, ...over].flatMap(({ links }) => links?.line ?? []));
    for (const task of due) this.lines.wait(task);
    const behind = await this.lines.pass(over);
    const ready = due.filter((task) => !isOnlyAbandoned(task) && this.#isStartable(task));
    const free = ready.filter(({ links }) => this.keys.hasRoom(links?.concurrency));
    const full = ready.filter((task) => !free.includes(task) && !this.#inHand.has(task.id));
    await allOf(full.map((task) => this.turnAway(task)));
    // A task that must run alone would block new tasks while it waits for the running ones, so it gets no precedence while others run.
    const isFirst = (one: Found): boolean => this.areNone || !isTriedAlone(one);
    const found = [
      ...abandoned.filter(isFirst),
      ...free.map((task): Found => ({ kind: 'ready', task })),
      ...abandoned.filter((one) => !isFirst(one)),
    ].filter(({ task }) => this.checkOut(task));
    const early = new Set(due.flatMap(({ id, links }) => (this.lines.hasTurn(links?.line) ? [] : [id])));
    for (const id of early) this.#earlyUntil.set(id, this.#now + FRESH_MS);
    // The index shows a task that is due later when it is due. One that was only left to others may be tried as soon as the worker helps.
    const unskipped = new Set([
      ...this.#inHand,
      ...early,
      ...[...later, ...due.filter(isOnlyAbandoned)].map(({ id }) => id),
    ]);
    for (const hint of hints) if (!unskipped.has(hint.id)) this.skip(hint, FRESH_MS);
    const more = behind.length === 0 ? [] : (await this.choose(behind)).found;
    return { found: [...found, ...more], later, taken: hints.length - due.length - later.length - abandoned.length };
  }

  /** A task waits for its key. Unless it stands with the others of its key already, it is moved there, where workers walk past. */
  async turnAway(task: ReadyTask): Promise<void> {
    const { concurrency, line } = task.links ?? {};
    this.keys.wait(concurrency, task, this.#now + FRESH_MS);
    if (task.isInGroup || line !== undefined) return;
    this.skip(task, HELD_RECHECK_MS);
    try {
      await this.#ports.tasks.join(task, stampOf(this.#ports.runtime));
      this.#standsIn({ ...task, isInGroup: true });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  /** Returns tasks that were seen running and whose sessions have ended since. Only sessions are read, and rows of such tasks. */
  async abandoned(): Promise<readonly Found[]> {
    const runners = this.keys.runners.filter(({ tenant }) => !this.#ports.isPaused(tenant));
    const live = await this.#liveUntil(new Set(runners.map(({ session }) => session)));
    return (await this.choose(runners.filter(({ session }) => !live.has(session)))).found;
  }

  forget(): void {
    for (const skipped of [this.#skipUntil, this.#earlyUntil])
      for (const [id, until] of skipped) if (until <= this.#now) skipped.delete(id);
    const now = this.#ports.runtime.clock.now();
    for (const [id, { recheckAt }] of this.#live) if (recheckAt <= now) this.#live.delete(id);
    this.keys.forget();
    this.lines.forget();
  }

  #isStartable({ tenant, links }: ReadyTask): boolean {
    return !this.#ports.isPaused(tenant) && this.lines.hasTurn(links?.line);
  }

  #standsIn({ priority, tenant, isInGroup, links }: ReadyTask): void {
    this.lanes.add(laneName({ priority, isOfGroups: isInGroup || tenant !== undefined || links?.line !== undefined }));
  }

  /** Returns the running tasks whose holders have expired, and those that this worker holds without running them. */
  async #findAbandoned(running: readonly RunningTask[]): Promise<readonly Found[]> {
    const [mine, foreign] = [true, false].map((isMine) =>
      running.filter(({ id, session }) => !this.#inHand.has(id) && (session === this.#session) === isMine),
    ) as [RunningTask[], RunningTask[]];
    const live = await this.#liveUntil(new Set(foreign.map(({ session }) => session)));
    const now = this.#ports.runtime.clock.now();
    const free = foreign.filter((task) => {
      if (this.#ports.isPaused(task.tenant)) return false;
      const until = live.get(task.session);
      // A worker that has held a task for long will probably hold it for as long again, but may hand it back earlier.
      if (until !== undefined)
        this.skip(task, Math.min(until - now, Math.max(HELD_RECHECK_MS, (now - task.claimedAt) / 2)));
      return until === undefined;
    });
    // A batch read may be stale and show a task that has just ended here, so each is read again, strongly consistent.
    const again = await allOf(mine.map((task) => this.#ports.tasks.get(task)));
    const adopted = again.filter(
      (row) => row?.state === 'running' && row.session === this.#session && !this.#inHand.has(row.id),
    ) as RunningTask[];
    return [
      ...free.map((task) => ({ kind: 'abandoned', task }) as const),
      ...adopted.map((task) => ({ kind: 'adopted', task }) as const),
    ];
  }

  /** Returns until when each session lives at least. One without an entry has released its tasks. Ends expired sessions. */
  async #liveUntil(ids: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    const { sessions, runtime, onDamaged } = this.#ports;
    const known = [...ids].flatMap((id) => {
      const live = this.#live.get(id);
      return live !== undefined && runtime.clock.now() < live.recheckAt ? [[id, live.until] as const] : [];
    });
    const live = new Map(known);
    const unknown = [...ids].filter((id) => !live.has(id));
    if (unknown.length === 0) return live;
    // Tasks of a session with a damaged row wait for an operator; other tasks are not affected.
    const records = await sessions.getMany(unknown, (id, error) => {
      onDamaged(error);
      live.set(id, Infinity);
    });
    for (const id of unknown) {
      if (live.has(id)) continue;
      const verdict = await this.#settle(records.get(id));
      if (verdict.kind === 'free') continue;
      if (verdict.kind === 'damaged') onDamaged(new Error(`session ${id} has an implausible expiry; its tasks wait`));
      const until = (verdict.kind === 'damaged' ? null : verdict.until) ?? Infinity;
      live.set(id, until);
      this.#live.set(id, { until, recheckAt: Math.min(until, runtime.clock.now() + HELD_RECHECK_MS) });
    }
    return live;
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

  get #now(): number {
    return this.#ports.runtime.clock.monotonic();
  }
}
