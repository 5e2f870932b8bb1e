/**
 * The backlog as one worker sees it: which task to try next.
 *
 * The index proposes, the row disposes.
 * A page of index entries is read, the rows behind it are read in one batch, those that a live session holds are dropped, and the rest is
 * shuffled: a refused claim costs as much as a successful one, so workers must rarely try for the same task.
 * Each worker looks at its home shards first, helps elsewhere when those are empty, and passes by elsewhere now and then for the tasks of the dead.
 *
 * Nothing here is authority: reads may be stale, and the claim's own guard decides.
 */
import { ClockSkewError } from '../errors.ts';
import type { SkewGauge } from '../lease/skew.ts';
import { allOf } from '../runtime/all-of.ts';
import { shuffled } from '../runtime/random.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Standing } from '../session/contender.ts';
import { settleSession } from '../session/contender.ts';
import type { SessionRecord } from '../session/session.ts';
import type { SessionStore } from '../session/store.ts';
import type { ReadyHint, TaskStore } from './store.ts';
import type { Priority, ReadyTask, RunningTask, TaskKey, TaskLinks, TaskRecord } from './task.ts';
import { PRIORITIES } from './task.ts';
import { TenantWalk } from './tenants.ts';

export interface BacklogSettings {
  readonly queue: string;
  readonly shards: number;
  readonly homeShards: readonly number[];
  /** Wait between looks at an empty backlog. */
  readonly pollMs: number;
  readonly maxClockSkewMs: number;
}

/**
 * `ready`      claim it.
 * `abandoned`  its holder's session is dead: take it over.
 * `adopted`    it runs under our own session without our knowing, because the answer to its claim was lost: it is ours already.
 */
export type Candidate =
  | { readonly kind: 'ready'; readonly task: ReadyTask }
  | { readonly kind: 'abandoned'; readonly task: RunningTask }
  | { readonly kind: 'adopted'; readonly task: RunningTask };

export interface BacklogPorts {
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
  /** Rows that cannot be decoded, sessions with an expiry beyond reason: skipped, and reported here. */
  readonly onDamaged: (error: unknown) => void;
  /** Our clock is too wrong to take over from anybody. */
  readonly onSkewed: (error: ClockSkewError) => void;
}

/** Entries of one page: 50 keys of about 130 bytes stay within one read unit. */
const PAGE_LIMIT = 50;
const MIN_READ_AT_A_TIME = 4;
/** Pages read in one partition while everything on them is held by others. */
const PAGES_LIMIT = 40;
/**
 * Candidates older than this are read again before they are tried: whoever works on the same shard has had time to take them,
 * and a row costs a twentieth of a refused claim to read.
 */
const FRESH_MS = 500;
/** A dead worker's shard waits for this long, times shards by workers, until somebody comes by. */
const PATROL_EVERY_MS = 1_000;
/** A task seen in somebody's hands is looked at again after this long: he may have given it back. */
const HELD_RECHECK_MS = 2_000;
/** Where no tenant's task has ever been seen, nobody looks for one more often while there is other work. */
const TENANTS_EVERY_MS = 1_000;

export class Backlog {
  readonly #settings: BacklogSettings;
  readonly #ports: BacklogPorts;
  readonly #session: string;
  readonly #otherShards: readonly number[];
  /** Tasks proposed, being claimed, or running here: not to be proposed again. */
  readonly #inHand = new Set<string>();
  /** Tasks held by others, and until when it is not worth looking. */
  readonly #heldUntil = new Map<string, number>();
  /** By key: tasks that found it full. */
  readonly #turnedAway = new Map<string | undefined, readonly string[]>();
  /** By partition of the index: this worker's way round its tenants. */
  readonly #walks = new Map<string, TenantWalk>();
  #hasTenants = false;
  #nextTenantsMonotonicMs = 0;
  #buffer: Candidate[] = [];
  #staleAtMonotonicMs = 0;
  #emptyUntilMonotonicMs = 0;
  /** Tasks that have ended here; and how many had when the last look began that found nothing. */
  #ends = 0;
  #emptyAfterEnds: number | undefined;
  /** Rows read together: grows while slots are faster than the buffer grows stale, and shrinks when they are slower. */
  #readAtATime = MIN_READ_AT_A_TIME;
  #nextPatrolMonotonicMs = 0;
  #patrols = 0;
  #refilling: Promise<void> | undefined;

  constructor(session: string, settings: BacklogSettings, ports: BacklogPorts) {
    this.#session = session;
    this.#settings = settings;
    this.#ports = ports;
    const { shards, homeShards } = settings;
    const others = Array.from({ length: shards }, (_, shard) => shard).filter((shard) => !homeShards.includes(shard));
    this.#otherShards = shuffled(ports.runtime.random, others);
  }

  /** The next candidate, in hand until `settle`, `putBack` or `park` is called; undefined when nothing is due that others do not hold. */
  async next(): Promise<Candidate | undefined> {
    if (this.#ports.runtime.clock.monotonic() > this.#staleAtMonotonicMs) this.#dropBuffer();
    if (this.#buffer.length === 0) {
      if (this.#ports.runtime.clock.monotonic() < this.#emptyUntilMonotonicMs) return undefined;
      this.#refilling ??= this.#refill().finally(() => (this.#refilling = undefined));
      await this.#refilling;
    }
    return this.#buffer.shift();
  }

  /** It was not taken after all. */
  putBack(key: TaskKey): void {
    this.#inHand.delete(nameOf(key));
    // Whoever is last looks once more before the worker goes home.
    if (this.isIdle) this.#emptyUntilMonotonicMs = 0;
  }

  /** The task is finished here, or given up. */
  settle(task: Linked): void {
    // Its end may have made others due: a callback, a parent, the next of its key.
    this.#ends++;
    const key = task.links?.key?.key;
    for (const name of this.#turnedAway.get(key) ?? []) this.#heldUntil.delete(name);
    this.#turnedAway.delete(key);
    this.putBack(task);
  }

  /** Never to be proposed here again: its last write could not be decided, and running it once more under the same claim would hide that. */
  park(key: TaskKey): void {
    this.settle(key);
    this.#heldUntil.set(nameOf(key), Infinity);
  }

  /** Its key is full: worth another look when one of that key ends here, or after a while. */
  turnAway(task: Linked): void {
    const key = task.links?.key?.key;
    this.#turnedAway.set(key, [...(this.#turnedAway.get(key) ?? []), nameOf(task)]);
    this.skip(task);
  }

  /** Whether nothing is proposed, being claimed, or running here. */
  get isIdle(): boolean {
    return this.#inHand.size === 0;
  }

  /** Whether, besides, a look that began after the last end of a task here has found nothing. */
  get isDrained(): boolean {
    return this.isIdle && this.#emptyAfterEnds === this.#ends;
  }

  /** Somebody else was faster: not worth another look for a while. */
  skip(key: TaskKey): void {
    this.#heldUntil.set(nameOf(key), this.#ports.runtime.clock.now() + HELD_RECHECK_MS);
  }

  /** Slots were slower than the buffer stayed fresh: what is left was read in vain. */
  #dropBuffer(): void {
    if (this.#buffer.length > 0) this.#readAtATime = Math.max(MIN_READ_AT_A_TIME, Math.ceil(this.#readAtATime / 2));
    for (const { task } of this.#buffer) this.#inHand.delete(nameOf(task));
    this.#buffer = [];
  }

  async #refill(): Promise<void> {
    const { clock } = this.#ports.runtime;
    const now = clock.monotonic();
    const endsBefore = this.#ends;
    if (now < this.#staleAtMonotonicMs) this.#readAtATime = Math.min(PAGE_LIMIT, this.#readAtATime * 2);
    this.#staleAtMonotonicMs = now + FRESH_MS;
    this.#forgetHeld();
    const sources = this.#sources(now);
    this.#buffer = await this.#patrol(sources);
    if (this.#buffer.length === 0) await this.#look(sources);
    // Nothing is called empty before all of it was looked at.
    if (this.#buffer.length === 0 && sources.length === 1) await this.#look([this.#proposeInTurn]);
    if (this.#buffer.length > 0) return;
    this.#emptyAfterEnds = endsBefore;
    // One look serves all slots that wait, unless something has ended meanwhile.
    if (endsBefore === this.#ends) this.#emptyUntilMonotonicMs = clock.monotonic() + this.#settings.pollMs / 2;
    this.#readAtATime = MIN_READ_AT_A_TIME;
  }

  /** Fills the buffer from the first shard and priority that has something. */
  async #look(sources: readonly Source[]): Promise<void> {
    const { random } = this.#ports.runtime;
    for (const priority of PRIORITIES) {
      const atHome = await allOf(
        this.#settings.homeShards.flatMap((shard) => sources.map((source) => source(priority, shard, 'oldest'))),
      );
      this.#buffer = shuffled(random, atHome.flat());
      // Whoever is at home elsewhere works through the same page: help with one shard at a time, anywhere in its page.
      for (const shard of shuffled(random, this.#otherShards)) {
        if (this.#buffer.length > 0) return;
        const found = await allOf(sources.map((source) => source(priority, shard, 'any')));
        this.#buffer = shuffled(random, found.flat());
      }
      if (this.#buffer.length > 0) return;
    }
  }

  /**
   * Looks at another shard's oldest entries now and then, for tasks whose holders are dead.
   * The worker at home there may be the one that died, and nobody else would come by before its own shards are empty.
   */
  async #patrol(sources: readonly Source[]): Promise<Candidate[]> {
    const now = this.#ports.runtime.clock.monotonic();
    if (this.#otherShards.length === 0 || now < this.#nextPatrolMonotonicMs) return [];
    this.#nextPatrolMonotonicMs = now + PATROL_EVERY_MS;
    const [shard = 0] = this.#otherShards.slice(this.#patrols++ % this.#otherShards.length);
    const found = await allOf(
      PRIORITIES.flatMap((priority) => sources.map((source) => source(priority, shard, 'oldest'))),
    );
    const isAbandoned = ({ kind }: Candidate): boolean => kind === 'abandoned';
    for (const { task } of found.flat().filter((candidate) => !isAbandoned(candidate)))
      this.#inHand.delete(nameOf(task));
    return found.flat().filter(isAbandoned);
  }

  /** Candidates of one partition, from the first entries that give any; no more rows are read than slots may soon use. */
  readonly #propose: Source = async (priority, shard, order) => {
    const { tasks, runtime } = this.#ports;
    const partition = { queue: this.#settings.queue, priority, shard };
    let after: unknown;
    for (let page = 0; page < PAGES_LIMIT; page++) {
      const { hints, next } = await tasks.page(partition, { now: runtime.clock.now(), limit: PAGE_LIMIT, after });
      const worthReading = hints.filter((hint) => this.#isWorthReading(hint));
      const ordered = order === 'oldest' ? worthReading : shuffled(runtime.random, worthReading);
      for (let from = 0; from < ordered.length; from += this.#readAtATime) {
        const candidates = await this.#choose(ordered.slice(from, from + this.#readAtATime));
        if (candidates.length > 0) return candidates;
      }
      if (next === undefined) return [];
      after = next;
    }
    return [];
  };

  /** Where to look: the ready index, and that of tenants where there are any. */
  #sources(now: number): readonly Source[] {
    if (!this.#hasTenants && now < this.#nextTenantsMonotonicMs) return [this.#propose];
    this.#nextTenantsMonotonicMs = now + TENANTS_EVERY_MS;
    return [this.#propose, this.#proposeInTurn];
  }

  /** Candidates of one partition, some of each tenant. */
  readonly #proposeInTurn: Source = async (priority, shard) => {
    const walk = this.#walkOf(priority, shard);
    for (let round = 0; round < PAGES_LIMIT; round++) {
      const { hints, isEmpty } = await walk.next({
        now: this.#ports.runtime.clock.now(),
        wanted: this.#readAtATime,
        isWorthReading: (hint) => this.#isWorthReading(hint),
      });
      this.#hasTenants ||= !isEmpty;
      if (hints.length === 0) return [];
      const candidates = await this.#choose(hints);
      if (candidates.length > 0) return candidates;
    }
    return [];
  };

  #walkOf(priority: Priority, shard: number): TenantWalk {
    const name = `${priority} ${shard}`;
    const { tasks, runtime } = this.#ports;
    const walk =
      this.#walks.get(name) ?? new TenantWalk({ queue: this.#settings.queue, priority, shard }, tasks, runtime.random);
    this.#walks.set(name, walk);
    return walk;
  }

  async #choose(hints: readonly ReadyHint[]): Promise<Candidate[]> {
    if (hints.length === 0) return [];
    const { tasks, onDamaged } = this.#ports;
    const rows = await tasks.getMany(hints, onDamaged);
    const abandoned = await this.#findAbandoned(rows.filter((row) => row.state === 'running'));
    const ready = rows.filter((row) => row.state === 'ready' && row.readyAt <= this.#ports.runtime.clock.now());
    const candidates: Candidate[] = [
      ...ready.map((task) => ({ kind: 'ready', task: task as ReadyTask }) as const),
      ...abandoned,
    ];
    // A concurrent proposal may have taken one of them in hand while rows were read.
    return candidates.filter(({ task }) => {
      if (this.#inHand.has(nameOf(task))) return false;
      this.#inHand.add(nameOf(task));
      return true;
    });
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
      return await settleSession(session, this.#ports, this.#settings.maxClockSkewMs);
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

  #isWorthReading(hint: ReadyHint): boolean {
    const name = nameOf(hint);
    return !this.#inHand.has(name) && (this.#heldUntil.get(name) ?? 0) <= this.#ports.runtime.clock.now();
  }

  #forgetHeld(): void {
    const now = this.#ports.runtime.clock.now();
    for (const [name, until] of this.#heldUntil) if (until <= now) this.#heldUntil.delete(name);
  }
}

/** Proposes candidates of one priority and shard. */
type Source = (priority: Priority, shard: number, order: 'oldest' | 'any') => Promise<Candidate[]>;

type Linked = TaskKey & { readonly links?: TaskLinks | undefined };

/** A key within one queue. */
function nameOf(key: TaskKey): string {
  return key.id;
}
