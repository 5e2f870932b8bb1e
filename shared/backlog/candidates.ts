/**
 * Which of the tasks behind index entries one worker may try.
 *
 * The index proposes, the row disposes: rows are read in one batch, and of them those are left out that are in hand here, or in the hands of a
 * live session. A task in the hands of a dead one may be taken over; sessions that have expired are ended on the way.
 * What was left out is not read again for a while.
 */
import { ClockSkewError } from '../errors.ts';
import type { SkewGauge } from '../lease/skew.ts';
import { allOf } from '../runtime/all-of.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Standing } from '../session/contender.ts';
import { settleSession } from '../session/contender.ts';
import type { SessionRecord } from '../session/record.ts';
import type { SessionStore } from '../session/store.ts';
import type { Fullness, KeyLimit } from '../task/key-limit.ts';
import type { ReadyHint, TaskStore } from '../task/store.ts';
import type { ReadyTask, RunningTask, TaskKey, TaskLinks, TaskRecord } from '../task/task.ts';

/**
 * `ready`      claim it.
 * `abandoned`  its holder's session is dead: take it over.
 * `adopted`    it runs under our own session without our knowing, because the answer to its claim was lost: it is ours already.
 */
export type Candidate =
  | { readonly kind: 'ready'; readonly task: ReadyTask }
  | { readonly kind: 'abandoned'; readonly task: RunningTask }
  | { readonly kind: 'adopted'; readonly task: RunningTask };

export interface CandidatePorts {
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
  /** Rows that cannot be decoded, sessions with an expiry beyond reason: skipped, and reported here. */
  readonly onDamaged: (error: unknown) => void;
  /** Our clock is too wrong to take over from anybody. */
  readonly onSkewed: (error: ClockSkewError) => void;
}

/** A task, and the key whose limit it may have met. */
export type Linked = TaskKey & { readonly links?: TaskLinks | undefined };

/** A task seen in somebody's hands is looked at again after this long: he may have given it back. */
const HELD_RECHECK_MS = 2_000;
/** A key that was seen full is taken to be full for so long, unless one of its tasks ends here. */
const FULL_MS = 500;
/** For so long a worker that has run a task of a full key stays for the next, in case it finds no place before. */
const EXPECTING_MS = 5_000;
/** An entry whose row is gone, not due, or not to be understood: the index lags behind by less. */
const STALE_RECHECK_MS = 500;

export class Candidates {
  readonly #session: string;
  readonly #maxClockSkewMs: number;
  readonly #ports: CandidatePorts;
  /** Tasks proposed, being claimed, or running here: not to be proposed again. */
  readonly #inHand = new Set<string>();
  /** Tasks that are not for us, and until when it is not worth looking. */
  readonly #heldUntil = new Map<string, number>();
  /** By key: tasks that found it full, and are held back for that. */
  readonly #turnedAway = new Map<string, Set<string>>();
  /** By key: monotonic time of the last end of one of its tasks here. */
  readonly #endedHereAt = new Map<string, number>();
  /** By limit of a key: until when it is taken to be full. */
  readonly #fullUntil = new Map<string, number>();

  constructor(session: string, maxClockSkewMs: number, ports: CandidatePorts) {
    this.#session = session;
    this.#maxClockSkewMs = maxClockSkewMs;
    this.#ports = ports;
  }

  /** Whether nothing is proposed, being claimed, or running here. */
  get areNone(): boolean {
    return this.#inHand.size === 0;
  }

  /**
   * Those of the tasks that may be tried; they are in hand from now on.
   * @param claimedBefore tasks that were claimed later are in good hands, and nobody is asked for
   */
  async choose(hints: readonly ReadyHint[], claimedBefore = Infinity): Promise<Candidate[]> {
    if (hints.length === 0) return [];
    const { tasks, runtime, onDamaged } = this.#ports;
    const rows = await tasks.getMany(hints, onDamaged);
    const running = rows.filter((row) => row.state === 'running');
    for (const task of running) if (task.claimedAt >= claimedBefore) this.skip(task);
    const abandoned = await this.#findAbandoned(running.filter(({ claimedAt }) => claimedAt < claimedBefore));
    const now = runtime.clock.now();
    const ready = rows.flatMap((row) => (row.state === 'ready' && row.readyAt <= now ? [row] : []));
    // Those of a key that is full hold up nothing that stands behind them.
    for (const task of ready) if (this.isKnownFull(task)) this.turnAway(task);
    const found: Candidate[] = [
      ...ready.filter((task) => !this.isKnownFull(task)).map((task) => ({ kind: 'ready', task }) as const),
      ...abandoned,
    ];
    // A concurrent proposal may have taken one of them in hand while rows were read.
    const candidates = found.filter(({ task }) => !this.#inHand.has(nameOf(task)));
    for (const { task } of candidates) this.#inHand.add(nameOf(task));
    for (const hint of hints) if (this.isWorthReading(hint)) this.#heldUntil.set(nameOf(hint), now + STALE_RECHECK_MS);
    return candidates;
  }

  isWorthReading(hint: ReadyHint): boolean {
    const name = nameOf(hint);
    return !this.#inHand.has(name) && (this.#heldUntil.get(name) ?? 0) <= this.#ports.runtime.clock.now();
  }

  /** Not tried after all, or finished here. */
  putBack(key: TaskKey): void {
    this.#inHand.delete(nameOf(key));
  }

  /** Not worth another look for a while, or for so long. */
  skip(key: TaskKey, forMs = HELD_RECHECK_MS): void {
    this.#heldUntil.set(nameOf(key), this.#ports.runtime.clock.now() + forMs);
  }

  /** A claim found its key full: so are the others of that key for a moment, or until its window turns if its rate is used up. */
  seeFull({ links }: Linked, { until = 0 }: Fullness): void {
    const now = this.#ports.runtime.clock.now();
    if (links?.key !== undefined) this.#fullUntil.set(limitName(links.key), Math.max(until, now + FULL_MS));
  }

  /** Whether its key was found to be full a moment ago. */
  isKnownFull({ links }: Linked): boolean {
    const until = links?.key === undefined ? undefined : this.#fullUntil.get(limitName(links.key));
    return until !== undefined && this.#ports.runtime.clock.now() < until;
  }

  /**
   * Whether tasks wait for a place of a key of which one has ended here a moment ago: the next place may be ours again.
   * For a key that others have filled, and for the next window of a rate, no worker stays.
   */
  get areExpecting(): boolean {
    const now = this.#ports.runtime.clock.monotonic();
    return [...this.#turnedAway.keys()].some((key) => now < (this.#endedHereAt.get(key) ?? -Infinity) + EXPECTING_MS);
  }

  /** Its key is full: worth another look when one of that key ends here, or after a while. */
  turnAway(task: Linked): void {
    this.skip(task);
    const key = task.links?.key;
    if (key === undefined || this.#isOutOfRate(key)) return;
    const names = this.#turnedAway.get(key.key) ?? new Set();
    this.#turnedAway.set(key.key, names.add(nameOf(task)));
  }

  #isOutOfRate(limit: KeyLimit): boolean {
    return (this.#fullUntil.get(limitName(limit)) ?? 0) > this.#ports.runtime.clock.now() + FULL_MS;
  }

  /** A task of its key has ended here. */
  callBack({ links }: Linked): void {
    const key = links?.key?.key;
    if (key === undefined) return;
    this.#endedHereAt.set(key, this.#ports.runtime.clock.monotonic());
    // Whether its rate allows for more, the next claim finds out.
    if (links?.key !== undefined) this.#fullUntil.delete(limitName(links.key));
    for (const name of this.#turnedAway.get(key) ?? []) this.#heldUntil.delete(name);
    this.#turnedAway.delete(key);
  }

  forgetHeld(): void {
    const now = this.#ports.runtime.clock.now();
    for (const [name, until] of this.#heldUntil) if (until <= now) this.#heldUntil.delete(name);
    for (const [name, until] of this.#fullUntil) if (until <= now) this.#fullUntil.delete(name);
    const before = this.#ports.runtime.clock.monotonic() - EXPECTING_MS;
    for (const [key, endedAt] of this.#endedHereAt) if (endedAt < before) this.#endedHereAt.delete(key);
    for (const [key, names] of this.#turnedAway) {
      for (const name of names) if (!this.#heldUntil.has(name)) names.delete(name);
      if (names.size === 0) this.#turnedAway.delete(key);
    }
  }

  /** Those of the running tasks whose holders are dead; ends sessions that have expired on the way. */
  async #findAbandoned(running: readonly RunningTask[]): Promise<Candidate[]> {
    const mine = running.filter(({ session }) => session === this.#session);
    const foreign = running.filter(({ session }) => session !== this.#session);
    const standings = await this.#standingsOf(new Set(foreign.map(({ session }) => session)));
    const now = this.#ports.runtime.clock.now();
    const free = foreign.filter((task) => {
      const heldUntil = standings.get(task.session);
      if (heldUntil === undefined) return true;
      // Whoever has held a task for long will likely hold it as long again; but it may come back sooner than its session ends.
      const recheckAt = now + Math.max(HELD_RECHECK_MS, (now - task.claimedAt) / 2);
      this.#heldUntil.set(nameOf(task), Math.min(heldUntil, recheckAt));
      return false;
    });
    return [...free.map((task) => ({ kind: 'abandoned', task }) as const), ...(await this.#findAdopted(mine))];
  }

  /** By session: until when it is not worth asking again; absent when what it held is free. */
  async #standingsOf(ids: ReadonlySet<string>): Promise<Map<string, number>> {
    const heldUntil = new Map<string, number>();
    if (ids.size === 0) return heldUntil;
    // What a session held whose row is damaged waits for a person, and nothing else does.
    const records = await this.#ports.sessions.getMany([...ids], (id, error) => {
      this.#ports.onDamaged(error);
      heldUntil.set(id, Infinity);
    });
    for (const id of ids) {
      if (heldUntil.has(id)) continue;
      const standing = await this.#settle(records.get(id));
      if (standing.kind === 'free') continue;
      if (standing.kind === 'damaged')
        this.#ports.onDamaged(new Error(`session ${id} has an expiry beyond reason; its tasks wait`));
      const until = standing.kind === 'damaged' ? null : standing.until;
      heldUntil.set(id, until ?? Infinity);
    }
    return heldUntil;
  }

  /** With a clock that is proven wrong nobody is declared dead; what waits for no verdict can be worked on all the same. */
  async #settle(session: SessionRecord | undefined): Promise<Standing> {
    try {
      return await settleSession(session, this.#ports, this.#maxClockSkewMs);
    } catch (error) {
      if (!(error instanceof ClockSkewError)) throw error;
      this.#ports.onSkewed(error);
      return { kind: 'live', until: this.#ports.runtime.clock.now() + HELD_RECHECK_MS };
    }
  }

  /** The batch read may be stale and show a task that we have just finished, so each is read again, consistently. */
  async #findAdopted(mine: readonly RunningTask[]): Promise<Candidate[]> {
    const rows = await allOf(mine.map((task) => this.#ports.tasks.get(task)));
    return rows
      .filter((row) => row !== undefined)
      .flatMap((row) => (this.#isMine(row) ? [{ kind: 'adopted', task: row } as const] : []));
  }

  #isMine(row: TaskRecord): row is RunningTask {
    return row.state === 'running' && row.session === this.#session && !this.#inHand.has(nameOf(row));
  }
}

/** Tasks of one key that were given different limits each obey theirs. */
function limitName({ key, limit, rate }: KeyLimit): string {
  return JSON.stringify([key, limit, rate?.count, rate?.perMs]);
}

/** A key within one queue. */
function nameOf(key: TaskKey): string {
  return key.id;
}
