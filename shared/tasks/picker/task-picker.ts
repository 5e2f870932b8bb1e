/**
 * The backlog as one worker sees it: which task to try next.
 *
 * Every shard is owned by a worker, and a worker polls its own shards first, from the highest priority down.
 * The rest follows from the cost of a poll. A find must cost as much in a long backlog as in a short one,
 * and as much with many workers as with one:
 *   - Entries of the index are read by the page and used up one after the other (`partition-view.ts`). Rows are read in small batches,
 *     just before they are tried, and shuffled: a refused claim costs as much as a successful one,
 *     so workers must rarely try the same task.
 *   - An own partition without a find rests until its turn, or until the worker finds a task: then it polls all of them.
 *     Without work the worker polls one partition at a time, in turn, at intervals that grow up to a bound.
 *     It rarely polls lanes that the queue's row does not name, and never if a dispatcher does that
 *     (`partition-turns.ts`, `partitions.ts`).
 *   - A worker that finds nothing in its own shards helps in a few foreign ones, chosen at random. It reads one row of each:
 *     if that backlog is more than its own worker can handle, that row is most likely free, and then it reads more.
 *   - A busy worker scans one foreign shard for abandoned tasks from time to time, at a rate that all workers share. If it finds any,
 *     the shard has no live worker, and the scanning worker owns it from then on.
 * The backlog counts as empty only after the worker has polled all its own partitions in named lanes since the last task ended here,
 * and some of the foreign partitions that were not polled recently. The lanes that are not named must also be polled
 * if no dispatcher does that, or if tasks that ended here have made others due.
 *
 * Nothing here is authoritative: reads may be stale, and the claim's own guard decides.
 */
import { allOf } from '../../core/runtime/all-of.ts';
import { shuffled } from '../../core/runtime/random.ts';
import type { Found } from './candidates.ts';
import { Candidates } from './candidates.ts';
import { LANES, lanesOf } from '../task/lane.ts';
import type { Fullness } from '../task/key-limit.ts';
import { Handover } from './handover.ts';
import type { Linked } from './key-places.ts';
import type { PartitionView } from './partition-view.ts';
import type { PartitionPorts, PartitionSettings } from './partitions.ts';
import { Partitions } from './partitions.ts';
import { Patrol } from './patrol.ts';
import type { ReadyHint } from '../task/task-store.ts';
import type { ReadyTask, TaskKey } from '../task/task.ts';
import { PRIORITIES } from '../task/task.ts';
import { Turns } from './partition-turns.ts';

/** Outcome of a candidate. */
export type Outcome =
  /** It ended here or was deferred: its key has capacity for another task. */
  | 'settled'
  /** It ran here and keeps its key's slot: handed back or lost. */
  | 'kept'
  /** It had expired before a worker began it. */
  | 'expired'
  /** Not tried after all. */
  | 'untried'
  /** Another worker was faster. */
  | 'contended'
  /** No task of its name is defined here. */
  | 'unknownName'
  /** The outcome of its last write is unknown. Running it again under the same claim would hide that, so it is never offered here again. */
  | 'undecided'
  /** Its key is full. */
  | { readonly full: Fullness };

/** A task that a worker may try. It stays checked out until `end`, which is called once. */
export type Candidate = Found & {
  /** The task was claimed and begins. */
  begin(): void;
  end(outcome: Outcome): Promise<void>;
};

interface PickerSettings extends PartitionSettings {
  /** Interval between polls of an empty backlog, one partition each: see `partition-turns.ts`. */
  readonly pollMs: number;
  /** The same interval after a minute without a find. Default: `pollMs`. */
  readonly idlePollMs?: number | undefined;
  readonly maxClockSkewMs: number;
}

const MAX_READ_AT_A_TIME = 50;
/** Own partitions read concurrently. Their pages last for a while, and each partition gets its turn. */
const LOOKS_AT_ONCE = 4;
/** Maximum number of batches of rows read in one poll if other workers hold all of them. */
const BATCHES_LIMIT = 40;
/** Reading two rows that other workers have taken costs as much as reading their page again. */
const STALE_ROWS = 2;
/**
 * Candidates older than this are read again before they are tried: other workers on the same shard have had time to take them,
 * and a row costs a twentieth of a refused claim to read.
 */
const FRESH_MS = 500;
/** Foreign partitions polled at a time by a worker without work in its own shards: while it is busy, and before it gives up. */
const LOOKS_ELSEWHERE = { whileBusy: 1, atLast: 4 };
/** Rows read at a time from a foreign partition whose last row was held. */
const DOUBTFUL = 25;
/** Rows read at a time from a foreign partition that has proven to have free tasks; from any other, one. */
const HELPED_AT_A_TIME = 4;
/** After a find, the worker polls its own partitions that have not been polled for this long: tasks rarely come alone. */
const STIRRED_AFTER_MS = 500;
/**
 * Tasks flow if two finds are no further apart than this. For as long after the last find, all own partitions are polled often.
 * If a running worker has free capacity, a wake starts no other one for a task. So a worker that exits when empty
 * waits longer for the next task (`atWork`) than a long-lived one, which polls often anyway (`staying`).
 */
const FLOWING_MS = { atWork: 20_000, staying: 5_000 };
/** Rest of an own partition if the next slot of a key may be ours, or while tasks flow. */
const EXPECTED_MS = { fromMs: 125, toMs: 500 };
/** A deployment that adds the name finds its tasks after at most this long. */
const UNKNOWN_RECHECK_MS = 60_000;
const UNTIL_ITS_TURN = { fromMs: Infinity, toMs: Infinity };

interface PickerPorts extends PartitionPorts {
  /** A resting slot would find a task now. */
  readonly onWorthALook: () => void;
}

export class TaskPicker {
  readonly #settings: PickerSettings;
  readonly #ports: PickerPorts;
  readonly #candidates: Candidates;
  readonly #partitions: Partitions;
  readonly #handover: Handover;
  readonly #patrol: Patrol;
  readonly #turns: Turns;
  #buffer: Found[] = [];
  #filledAtMonotonicMs = 0;
  /** Slots that wait for a candidate. */
  #waiting = 0;
  /** Tasks that slots take in half of `FRESH_MS`; and the number they have taken since that was last calculated. */
  #pace = 0;
  #taken = 0;
  #reckonedAtMonotonicMs: number;
  #emptyUntilMonotonicMs = 0;
  /** Tasks that have ended here; and the value of that at the start of the last poll that found nothing. */
  #ends = 0;
  #emptyAfterEnds: number | undefined;
  /** Time of the last find that did not come together with others. */
  #foundAtMonotonicMs = -Infinity;
  /** Finds follow each other closely until then. */
  #flowsUntilMonotonicMs = -Infinity;
  /** Last time that a task here made others due, in any shard. */
  #followedAtMonotonicMs = -Infinity;
  #refilling: Promise<void> | undefined;
  /** Partitions that the last poll has not read to the end. */
  #unfinished = 0;

  constructor(session: string, settings: PickerSettings, ports: PickerPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#candidates = new Candidates({ session, ...settings }, ports);
    const { clock } = ports.runtime;
    this.#handover = new Handover(this.#candidates, clock);
    this.#turns = new Turns(settings, ports.runtime);
    this.#partitions = new Partitions(settings, ports, (view) => this.#rest(view));
    this.#reckonedAtMonotonicMs = clock.monotonic();
    this.#patrol = new Patrol(settings, ports, {
      partitions: this.#partitions,
      candidates: this.#candidates,
      nextOf: (view) => this.#nextOf(view, 1),
    });
  }

  /** Returns the next candidate; undefined if other workers hold all due tasks, or none is due. */
  async next(): Promise<Candidate | undefined> {
    const found = await this.#next();
    if (found === undefined) return undefined;
    return {
      ...found,
      begin: () => this.#begin(found.task),
      end: (outcome) => this.#end(found, outcome),
    };
  }

  /** A new window has capacity for more tasks than the one that stayed visible for it. */
  #begin(task: Linked): void {
    if (task.links?.concurrency?.rate !== undefined) this.#handover.begin(task);
  }

  async #end({ kind, task }: Found, outcome: Outcome): Promise<void> {
    switch (outcome) {
      case 'settled':
        this.#settle(task);
        this.#leavePlace(task);
        break;
      case 'kept':
        this.#settle(task);
        break;
      case 'expired':
        // It may be the task that stayed visible for its window, with others parked behind it.
        this.#begin(task);
        this.#settle(task);
        this.#candidates.skip(task);
        break;
      case 'undecided':
        this.#settle(task);
        this.#candidates.skip(task, Infinity);
        break;
      case 'unknownName':
        this.#candidates.skip(task, UNKNOWN_RECHECK_MS);
        break;
      case 'contended':
        if (kind === 'ready' && task.links?.concurrency !== undefined) this.#turnAway(task);
        else this.#candidates.skip(task);
        break;
      case 'untried':
        break;
      default:
        if (kind === 'ready') await this.#turnAwayFull(task, outcome.full);
    }
    this.#putBack(task);
  }

  async #next(): Promise<Found | undefined> {
    const { clock } = this.#ports.runtime;
    if (clock.monotonic() > this.#filledAtMonotonicMs + FRESH_MS) this.#dropBuffer();
    await this.#handover.readHeard();
    const first = this.#handover.next();
    if (first !== undefined) return first;
    if (this.#buffer.length === 0 && clock.monotonic() >= this.#emptyUntilMonotonicMs) await this.#refillOnce();
    if (this.#buffer.length === 0) await this.#handover.settled();
    this.#dropFull();
    const candidate = this.#handover.next() ?? this.#buffer.shift();
    if (candidate !== undefined) this.#taken++;
    return candidate;
  }

  /** Proposes those of the tasks that may be tried, before all others: the index may not show them yet. */
  beginWith(tasks: readonly TaskKey[]): Promise<void> {
    return this.#handover.read(tasks);
  }

  async #refillOnce(): Promise<void> {
    this.#waiting++;
    this.#refilling ??= this.#refill().finally(() => (this.#refilling = undefined));
    await this.#refilling.finally(() => {
      this.#waiting--;
    });
  }

  /** Drops candidates whose key was found full in the meantime. */
  #dropFull(): void {
    this.#buffer = this.#buffer.filter(({ kind, task }) => {
      if (kind !== 'ready' || !this.#candidates.places.isKnownFull(task)) return true;
      this.#candidates.turnAwayForNow(task);
      this.#candidates.putBack(task);
      return false;
    });
  }

  #putBack(key: TaskKey): void {
    this.#candidates.putBack(key);
    // The last slot polls once more before the worker exits.
    if (this.isIdle) this.#emptyUntilMonotonicMs = 0;
  }

  /** Its end may have made others due: a callback, a parent, the next of its key. */
  #settle(task: Linked): void {
    this.#ends++;
    this.#candidates.callBack(task);
    if (task.links !== undefined) this.expectFollowers();
  }

  /** The task has freed its slot: the next known task of its key is tried before all others, and parked tasks are unparked. */
  #leavePlace(task: Linked): void {
    const next = this.#candidates.nextOfKey(task);
    this.#handover.propose(next);
    this.#handover.begin(task);
    if (next.length === 0 || this.#candidates.places.isNextKnown(task)) return;
    // That was the last known task, so it is worth reading others while it runs.
    this.#emptyUntilMonotonicMs = 0;
    this.#ports.onWorthALook();
  }

  /** Waits for the background writes. Call it when this worker takes no more tasks. */
  finish(): Promise<void> {
    return this.#handover.settled();
  }

  /** A task that runs or ended here has made others due, in any shard. Possibly no other worker polls there any more. */
  expectFollowers(): void {
    const now = this.#ports.runtime.clock.monotonic();
    this.#followedAtMonotonicMs = now;
    this.#emptyUntilMonotonicMs = Math.min(this.#emptyUntilMonotonicMs, now + EXPECTED_MS.toMs / 2);
    this.#partitions.wakeHome();
  }

  /**
   * Tasks were enqueued, as far as this process knows.
   * @param ids of the tasks whose rows to read, whether or not the index shows them yet; if empty, all own partitions are polled
   */
  expectTasks(ids: readonly string[] = []): void {
    const { queue } = this.#settings;
    if (ids.length > 0 && this.#handover.hear(ids.map((id) => ({ queue, id })))) return;
    this.#emptyUntilMonotonicMs = 0;
    this.#turns.quicken();
    this.#partitions.wakeHome();
  }

  /** Time until the next poll, unless something happens. */
  get restMs(): number {
    if (this.#handover.isHearing) return 0;
    return Math.max(0, this.#emptyUntilMonotonicMs - this.#ports.runtime.clock.monotonic());
  }

  #turnAway(task: Linked): void {
    this.#emptyAfterEnds = undefined;
    this.#candidates.turnAway(task);
  }

  /** Postpones a task until another of its key ends here, or for a while; or parks it. */
  async #turnAwayFull(task: ReadyTask, full: Fullness): Promise<void> {
    this.#emptyAfterEnds = undefined;
    this.#candidates.turnAwayForNow(task);
    this.#candidates.places.seeFull(task, full);
    this.#handover.propose(await this.#candidates.park([task]));
  }

  /** Whether nothing is proposed, being claimed, or running here. */
  get isIdle(): boolean {
    return this.#candidates.areNone;
  }

  /** Whether the picker is idle and a poll that began after the last task ended here has found nothing. */
  get isDrained(): boolean {
    const isQuiet = !this.#handover.isHearing && !this.isExpecting && !this.#handover.isUnderWay;
    return this.isIdle && this.#emptyAfterEnds === this.#ends && isQuiet;
  }

  /** Whether tasks wait for a slot of their key. A worker that exited now would leave them to the next tick. */
  get isExpecting(): boolean {
    return this.#candidates.places.areExpecting;
  }

  /** Slots were slower than the buffer stayed fresh, so the rest of the buffer is dropped. */
  #dropBuffer(): void {
    for (const { task } of this.#buffer) this.#candidates.putBack(task);
    this.#buffer = [];
  }

  async #refill(): Promise<void> {
    const { clock } = this.#ports.runtime;
    const now = clock.monotonic();
    const endsBefore = this.#ends;
    this.#reckonPace(now);
    this.#partitions.meet();
    this.#forgetHeld(now);
    this.#unfinished = 0;
    this.#takeTurn();
    this.#buffer = await this.#patrol.next(now);
    if (this.#buffer.length === 0) await this.#look();
    // Resting partitions may have the only tasks left.
    const isLast = this.#buffer.length === 0 && this.isIdle && this.#ends === endsBefore;
    if (isLast) await this.#lookAtRest(now);
    // A dispatcher's ticks repair. Without a dispatcher a worker must repair, however busy it is.
    if (!this.#settings.hasDispatcher || (this.#buffer.length === 0 && this.isIdle)) this.#handover.beginRepair();
    this.#filledAtMonotonicMs = clock.monotonic();
    if (this.#buffer.length > 0) this.#stir();
    if (this.#buffer.length > 0 || this.#unfinished > 0) return;
    if (isLast) this.#emptyAfterEnds = endsBefore;
    // One poll serves all waiting slots, unless a task has ended during it.
    const expectedAt = this.#isExpectingSoon ? clock.monotonic() + EXPECTED_MS.toMs / 2 : Infinity;
    if (endsBefore === this.#ends) this.#emptyUntilMonotonicMs = Math.min(this.#turns.nextAtMonotonicMs, expectedAt);
  }

  #forgetHeld(now: number): void {
    const isExpecting = (): boolean => this.isExpecting;
    const wasExpecting = isExpecting();
    this.#candidates.forgetHeld();
    // Postponed tasks may have capacity now, in any partition.
    if (wasExpecting && !isExpecting()) this.#followedAtMonotonicMs = now;
  }

  /** Wakes the own partition that was polled longest ago, if a turn is due. */
  #takeTurn(): void {
    if (!this.#turns.isDue) return;
    const named = this.#partitions.atHome();
    const unnamed = this.#settings.hasDispatcher
      ? []
      : this.#partitions.atHome(LANES.filter((lane) => !this.#partitions.isNamed(lane)));
    const isNoted = this.#ports.lanes() !== undefined;
    const turn = this.#turns.take({ named: named.length, shards: this.#partitions.home.length, isNoted });
    const resting = (turn === 'unnamed' && unnamed.length > 0 ? unnamed : named).filter((view) => view.isResting);
    const [next] = resting.toSorted((one, other) => one.lookedAtMonotonicMs - other.lookedAtMonotonicMs);
    next?.wake();
  }

  /** A task was found, and there may be more. */
  #stir(): void {
    this.#emptyAfterEnds = undefined;
    const now = this.#ports.runtime.clock.monotonic();
    const before = now - STIRRED_AFTER_MS;
    if (this.#foundAtMonotonicMs < before) {
      const flowingMs = this.#settings.goesHome ? FLOWING_MS.atWork : FLOWING_MS.staying;
      if (now < this.#foundAtMonotonicMs + flowingMs) this.#flowsUntilMonotonicMs = now + flowingMs;
      this.#foundAtMonotonicMs = now;
    }
    this.#turns.quicken();
    for (const view of this.#partitions.atHome()) if (view.lookedAtMonotonicMs < before) view.wake();
  }

  /** Tasks come one after the other, or the next place of a key may be ours. */
  get #isExpectingSoon(): boolean {
    return this.isExpecting || this.#ports.runtime.clock.monotonic() < this.#flowsUntilMonotonicMs;
  }

  /** Measures over a while, because slots that began together come back together. */
  #reckonPace(now: number): void {
    const elapsedMs = now - this.#reckonedAtMonotonicMs;
    if (elapsedMs < FRESH_MS) return;
    this.#pace = (this.#taken * FRESH_MS) / 2 / elapsedMs;
    this.#taken = 0;
    this.#reckonedAtMonotonicMs = now;
  }

  /** Number of rows worth reading: as many as slots will take while the rows are fresh, and at least one per waiting slot. */
  get #wanted(): number {
    return Math.min(MAX_READ_AT_A_TIME, Math.max(1, this.#waiting, Math.round(this.#pace)));
  }

  /** Fills the buffer from the first priority with candidates, in own or foreign shards. */
  async #look(): Promise<void> {
    for (const priority of PRIORITIES) {
      const isDue = (view: PartitionView): boolean => !view.isResting;
      const atHome = this.#partitions.atHome(lanesOf(LANES, priority)).filter(isDue);
      const elsewhere = this.#partitions.ofOthers(lanesOf(this.#partitions.namedLanes, priority)).filter(isDue);
      await this.#fill(() => this.#lookThrough(atHome));
      await this.#fill(() => this.#lookElsewhere(elsewhere));
    }
  }

  /**
   * Polls once more before the backlog counts as empty: own shards in every lane that no dispatcher checks,
   * and every partition that may have tasks made due by a task that ended here,
   * because possibly no other worker polls there any more.
   */
  async #lookAtRest(now: number): Promise<void> {
    const { goesHome, hasDispatcher } = this.#settings;
    const followed = this.#followedAtMonotonicMs;
    // After the backlog was found empty, later tasks are found in turn. A long-lived worker finds all tasks that way.
    const since = goesHome && this.#emptyAfterEnds !== this.#ends ? now : followed;
    const sinceUnnamed = hasDispatcher ? followed : since;
    for (const priority of PRIORITIES) {
      const atHome = this.#partitions.atHome(lanesOf(LANES, priority));
      const elsewhere = this.#partitions.ofOthers(lanesOf(this.#partitions.namedLanes, priority));
      const unseen = [
        ...atHome.filter(
          (view) => view.lookedAtMonotonicMs < (this.#partitions.isNamed(view.lane) ? since : sinceUnnamed),
        ),
        ...elsewhere.filter((view) => view.lookedAtMonotonicMs < followed),
      ];
      await this.#fill(() => this.#lookThrough(unseen));
    }
  }

  async #fill(find: () => Promise<readonly Found[]>): Promise<void> {
    if (this.#buffer.length === 0) this.#buffer = shuffled(this.#ports.runtime.random, await find());
  }

  /**
   * Returns candidates from some of these partitions, and reads as much as that takes.
   * It begins with partitions that have entries read ahead, and continues with those polled longest ago.
   */
  async #lookThrough(views: readonly PartitionView[]): Promise<readonly Found[]> {
    const inTurn = views.toSorted((one, other) => one.lookedAtMonotonicMs - other.lookedAtMonotonicMs);
    const waiting = [...inTurn.filter(({ isAhead }) => isAhead), ...inTurn.filter(({ isAhead }) => !isAhead)];
    let wanted = this.#wanted;
    for (let batch = 0; waiting.length > 0 && batch < BATCHES_LIMIT; batch++) {
      const some = waiting.splice(0, LOOKS_AT_ONCE);
      const share = Math.ceil(wanted / some.length);
      const found = await allOf(some.map((view) => this.#nextOf(view, share)));
      const candidates = await this.#choose(some, found);
      if (candidates.length > 0) return candidates;
      waiting.push(...some.filter((view, at) => found[at]?.length !== 0 || !view.isRound));
      wanted = Math.min(MAX_READ_AT_A_TIME, 2 * wanted);
    }
    this.#unfinished += waiting.length;
    return [];
  }

  /** A session that has claimed a task since then cannot have expired yet, so it is not read. */
  #aHeartbeatAgo(): number {
    return this.#ports.runtime.clock.now() - this.#settings.heartbeatMs;
  }

  /** Returns candidates from the first of a few foreign partitions that has any. */
  async #lookElsewhere(views: readonly PartitionView[]): Promise<readonly Found[]> {
    const known = views.filter(({ isAhead }) => isAhead);
    const unknown = views.filter(({ isAhead }) => !isAhead);
    const looks = this.isIdle ? LOOKS_ELSEWHERE.atLast : LOOKS_ELSEWHERE.whileBusy;
    for (const view of [...known, ...shuffled(this.#ports.runtime.random, unknown)].slice(0, looks)) {
      // Running tasks come first in the index. If one of them was held, the waiting tasks are behind it.
      const wanted = view.isGiving ? Math.min(this.#wanted, HELPED_AT_A_TIME) : view.isDoubtful ? DOUBTFUL : 1;
      const hints = await this.#nextOf(view, wanted);
      const candidates = await this.#choose([view], [hints], this.#aHeartbeatAgo());
      for (const { task } of candidates.slice(this.#wanted)) this.#candidates.putBack(task);
      if (candidates.length > 0) return candidates.slice(0, this.#wanted);
      if (hints.length > 0) this.#rest(view);
    }
    return [];
  }

  async #nextOf(view: PartitionView, wanted: number): Promise<readonly ReadyHint[]> {
    const hints = await view.next({
      now: this.#ports.runtime.clock.now(),
      wanted,
      isWorthReading: (hint) => this.#candidates.isWorthReading(hint),
    });
    if (hints.length === 0 && view.isRound) this.#rest(view);
    else if (hints.length > 0) this.#partitions.met(view.lane);
    return hints;
  }

  async #choose(
    views: readonly PartitionView[],
    found: readonly (readonly ReadyHint[])[],
    claimedBefore?: number,
  ): Promise<Found[]> {
    const candidates = await this.#candidates.choose(found.flat(), claimedBefore);
    const chosen = new Set(candidates.map(({ task }) => task.id));
    views.forEach((view, at) => {
      const hints = found[at] ?? [];
      const stale = hints.filter(({ id }) => !chosen.has(id)).length;
      if (stale < hints.length) view.wake();
      // Dropped entries of a tenant would lose their turn.
      if (stale >= STALE_ROWS && !view.lane.isOfTenants) view.letGo();
    });
    return candidates;
  }

  #rest(view: PartitionView): void {
    const { pollMs } = this.#settings;
    const { random } = this.#ports.runtime;
    if (this.#partitions.isHome(view)) view.rest(this.#isExpectingSoon ? EXPECTED_MS : UNTIL_ITS_TURN, random);
    // All workers together poll each foreign partition as often as they scan its shard.
    else
      view.rest(
        { fromMs: pollMs / 2, toMs: Math.max(pollMs / 2, this.#patrol.everyMs * this.#partitions.elsewhere.length) },
        random,
      );
  }
}
