/**
 * The backlog as one worker sees it: which task to try next.
 *
 * Every shard has a worker at home in it, and a worker looks at home first,
 * from the highest priority down. What a look costs decides the rest,
 * so that a task costs as much to find in a long backlog as in a short one, and among many workers as with one:
 *   - Entries of the index are read by the page and used up one after the other (`partition-view.ts`);
 *     rows are read in small batches, just before
 *     they are tried, and shuffled: a refused claim costs as much as a successful one, so workers must rarely try for the same task.
 *   - A partition at home in which nothing was found rests until its turn, or until something is found: then all of them are worth a look.
 *     Without work there is one look at a time, in turn, and ever seldomer up to a bound;
 *     lanes that the queue's row does not name are looked at
 *     seldom, or not at all where a dispatcher does that (`partition-turns.ts`, `partitions.ts`).
 *   - A worker that finds nothing at home helps elsewhere: in a few shards,
 *     chosen by chance, of each of which a row is read: where the backlog is more than its own
 *     worker can cope with, that row most likely is free, and then there are more.
 *   - A busy worker passes by one other shard now and then,
 *     at a rate that all workers share, for the tasks of the dead. Where it finds any,
 *     no worker is at home; so it is at home there, too, from then on.
 * Nothing is called empty before all named lanes at home were looked at
 * since the last end of a task here, and, of the others' shards, some that
 * were not looked at a while ago; the lanes that are not named as well,
 * where no dispatcher looks at them, or where tasks that ended here have
 * made others due.
 *
 * Nothing here is authority: reads may be stale, and the claim's own guard decides.
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

/** What became of a candidate. */
export type Outcome =
  /** It ended here, or was put off: its key has room for another. */
  | 'settled'
  /** It ran here, and keeps its place in its key: handed back, or lost. */
  | 'kept'
  /** It had expired before any worker began it. */
  | 'expired'
  /** Not tried after all. */
  | 'untried'
  /** Another worker was faster. */
  | 'contended'
  /** No task of its name is defined here. */
  | 'unknownName'
  /** Its last write could not be decided: running it once more under the same claim would hide that, so it is never offered here again. */
  | 'undecided'
  /** Its key is full. */
  | { readonly full: Fullness };

/** A task that a worker may try. It is in hand until `end`, which is called once. */
export type Candidate = Found & {
  /** It was claimed, and begins. */
  begin(): void;
  end(outcome: Outcome): Promise<void>;
};

interface PickerSettings extends PartitionSettings {
  /** Between looks at an empty backlog, of one partition each: see `partition-turns.ts`. */
  readonly pollMs: number;
  /** From a minute without a find on; absent: the same. */
  readonly idlePollMs?: number | undefined;
  readonly maxClockSkewMs: number;
}

const MAX_READ_AT_A_TIME = 50;
/** Partitions at home that are read side by side: their pages last for a while, and each has its turn. */
const LOOKS_AT_ONCE = 4;
/** Batches of rows read in one look while all of them are held by others. */
const BATCHES_LIMIT = 40;
/** Two rows that others had taken cost as much as reading their page again. */
const STALE_ROWS = 2;
/**
 * Candidates older than this are read again before they are tried: others that work on the same shard have had time to take them,
 * and a row costs a twentieth of a refused claim to read.
 */
const FRESH_MS = 500;
/** Others' shards that a worker with nothing to do at home looks at, at a time; and before it gives up. */
const LOOKS_ELSEWHERE = { whileBusy: 1, atLast: 4 };
/** Rows read at a time of one where the row that was read last was held. */
const DOUBTFUL = 25;
/** Rows read at a time of an others' shard that has proven to have more than they take; of any other, one. */
const HELPED_AT_A_TIME = 4;
/** After a find, partitions at home are looked at that were not looked at for so long: tasks seldom come alone. */
const STIRRED_AFTER_MS = 500;
/**
 * Where two finds lie no further apart, tasks flow: as long after the last,
 * all that is at home is looked at often. Wakes leave a task to the
 * workers that are there, so one that has a free place beside its work waits for the next for longer than one that looks often anyway.
 */
const FLOWING_MS = { atWork: 20_000, staying: 5_000 };
/**
 * What stands in the index for a key whose next place may be ours,
 * and all that is at home while tasks flow, is looked at again after so long.
 */
const EXPECTED_MS = { fromMs: 125, toMs: 500 };
/** A deployment that adds the name meets its tasks at the latest after this long. */
const UNKNOWN_RECHECK_MS = 60_000;
const UNTIL_ITS_TURN = { fromMs: Infinity, toMs: Infinity };

interface PickerPorts extends PartitionPorts {
  /** A slot that rests would find something now. */
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
  /** What slots take in half the time that candidates stay fresh; and what they have taken since that was reckoned last. */
  #pace = 0;
  #taken = 0;
  #reckonedAtMonotonicMs: number;
  #emptyUntilMonotonicMs = 0;
  /** Tasks that have ended here; and how many had when the last look began that found nothing. */
  #ends = 0;
  #emptyAfterEnds: number | undefined;
  /** When something was found last that was not found together with others. */
  #foundAtMonotonicMs = -Infinity;
  /** Finds follow each other closely until then. */
  #flowsUntilMonotonicMs = -Infinity;
  /** When something here made others due last, in any shard. */
  #followedAtMonotonicMs = -Infinity;
  #refilling: Promise<void> | undefined;
  /** Partitions that the last look had not seen to their ends when it ended. */
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

  /** The next candidate; undefined when nothing is due that others do not hold. */
  async next(): Promise<Candidate | undefined> {
    const found = await this.#next();
    if (found === undefined) return undefined;
    return {
      ...found,
      begin: () => this.#begin(found.task),
      end: (outcome) => this.#end(found, outcome),
    };
  }

  /** A window that has turned has room for more than the one that waited for it in sight. */
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
        // It may have been the one that stood in sight for its window, with others parked behind it.
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

  /** Those of the tasks that may be tried are proposed before all others: the index may not show them yet. */
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

  /** Others of the same key have found it full meanwhile. */
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
    // The last slot looks once more before the worker goes home.
    if (this.isIdle) this.#emptyUntilMonotonicMs = 0;
  }

  /** Its end may have made others due: a callback, a parent, the next of its key. */
  #settle(task: Linked): void {
    this.#ends++;
    this.#candidates.callBack(task);
    if (task.links !== undefined) this.expectFollowers();
  }

  /** It has left its place: the next of its key that is known is tried before all others, and those that are parked are put back. */
  #leavePlace(task: Linked): void {
    const next = this.#candidates.nextOfKey(task);
    this.#handover.propose(next);
    this.#handover.begin(task);
    if (next.length === 0 || this.#candidates.places.isNextKnown(task)) return;
    // That was the last one known: others are worth a look while it runs.
    this.#emptyUntilMonotonicMs = 0;
    this.#ports.onWorthALook();
  }

  /** Waits for what was begun beside the other work. To be called when this worker takes nothing more. */
  finish(): Promise<void> {
    return this.#handover.settled();
  }

  /** What runs here, or ended here, has made others due: in any shard, where no other worker may look any more. */
  expectFollowers(): void {
    const now = this.#ports.runtime.clock.monotonic();
    this.#followedAtMonotonicMs = now;
    this.#emptyUntilMonotonicMs = Math.min(this.#emptyUntilMonotonicMs, now + EXPECTED_MS.toMs / 2);
    this.#partitions.wakeHome();
  }

  /**
   * Tasks were enqueued, as far as is known here.
   * @param ids of those whose rows are read then, whether or not the index shows them yet; none: all that is at home is worth a look
   */
  expectTasks(ids: readonly string[] = []): void {
    const { queue } = this.#settings;
    if (ids.length > 0 && this.#handover.hear(ids.map((id) => ({ queue, id })))) return;
    this.#emptyUntilMonotonicMs = 0;
    this.#turns.quicken();
    this.#partitions.wakeHome();
  }

  /** How long nothing is looked at, unless something happens. */
  get restMs(): number {
    if (this.#handover.isHearing) return 0;
    return Math.max(0, this.#emptyUntilMonotonicMs - this.#ports.runtime.clock.monotonic());
  }

  #turnAway(task: Linked): void {
    this.#emptyAfterEnds = undefined;
    this.#candidates.turnAway(task);
  }

  /** Worth another look when one of its key ends here, or after a while; or parked. */
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

  /** Whether, besides, a look that began after the last end of a task here has found nothing. */
  get isDrained(): boolean {
    const isQuiet = !this.#handover.isHearing && !this.isExpecting && !this.#handover.isUnderWay;
    return this.isIdle && this.#emptyAfterEnds === this.#ends && isQuiet;
  }

  /** Whether tasks wait for a place of their key: a worker that went home would leave them to the next tick. */
  get isExpecting(): boolean {
    return this.#candidates.places.areExpecting;
  }

  /** Slots were slower than the buffer stayed fresh: what is left was read in vain. */
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
    // What rests may be all that is left.
    const isLast = this.#buffer.length === 0 && this.isIdle && this.#ends === endsBefore;
    if (isLast) await this.#lookAtRest(now);
    // The ticks of a dispatcher repair; without them a worker must, however much else it has to do.
    if (!this.#settings.hasDispatcher || (this.#buffer.length === 0 && this.isIdle)) this.#handover.beginRepair();
    this.#filledAtMonotonicMs = clock.monotonic();
    if (this.#buffer.length > 0) this.#stir();
    if (this.#buffer.length > 0 || this.#unfinished > 0) return;
    if (isLast) this.#emptyAfterEnds = endsBefore;
    // One look serves all slots that wait, unless something has ended meanwhile.
    const expectedAt = this.#isExpectingSoon ? clock.monotonic() + EXPECTED_MS.toMs / 2 : Infinity;
    if (endsBefore === this.#ends) this.#emptyUntilMonotonicMs = Math.min(this.#turns.nextAtMonotonicMs, expectedAt);
  }

  #forgetHeld(now: number): void {
    const isExpecting = (): boolean => this.isExpecting;
    const wasExpecting = isExpecting();
    this.#candidates.forgetHeld();
    // What was turned away may have room by now, wherever it stands.
    if (wasExpecting && !isExpecting()) this.#followedAtMonotonicMs = now;
  }

  /** The partition at home that has rested longest is worth a look. */
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

  /** Something was found, and there may be more. */
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

  /** Over a while, because slots that began together come back together. */
  #reckonPace(now: number): void {
    const elapsedMs = now - this.#reckonedAtMonotonicMs;
    if (elapsedMs < FRESH_MS) return;
    this.#pace = (this.#taken * FRESH_MS) / 2 / elapsedMs;
    this.#taken = 0;
    this.#reckonedAtMonotonicMs = now;
  }

  /** Rows worth reading: as many as slots will take while they are fresh, and at least one for each slot that waits. */
  get #wanted(): number {
    return Math.min(MAX_READ_AT_A_TIME, Math.max(1, this.#waiting, Math.round(this.#pace)));
  }

  /** Fills the buffer from the first priority that has something, at home or elsewhere. */
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
   * Before it is called empty: at home in every lane that no dispatcher looks at;
   * and wherever what follows from a task that ended here may wait,
   * for no other worker may look there any more.
   */
  async #lookAtRest(now: number): Promise<void> {
    const { goesHome, hasDispatcher } = this.#settings;
    const followed = this.#followedAtMonotonicMs;
    // Once it was found empty, what comes after that is found in turn; and so is all for a worker that stays.
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
   * Candidates of some of these partitions, whatever has to be read for them:
   * of those whose pages are not used up, then of those looked at longest ago.
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

  /** A session that claimed a task since then cannot be found dead yet, and is not asked after. */
  #aHeartbeatAgo(): number {
    return this.#ports.runtime.clock.now() - this.#settings.heartbeatMs;
  }

  /** Candidates of one of a few others' partitions. */
  async #lookElsewhere(views: readonly PartitionView[]): Promise<readonly Found[]> {
    const known = views.filter(({ isAhead }) => isAhead);
    const unknown = views.filter(({ isAhead }) => !isAhead);
    const looks = this.isIdle ? LOOKS_ELSEWHERE.atLast : LOOKS_ELSEWHERE.whileBusy;
    for (const view of [...known, ...shuffled(this.#ports.runtime.random, unknown)].slice(0, looks)) {
      // The first entries are those that run: where one was held, what waits stands behind them.
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
      // A tenant's entries would lose their turn if they were let go.
      if (stale >= STALE_ROWS && !view.lane.isOfTenants) view.letGo();
    });
    return candidates;
  }

  #rest(view: PartitionView): void {
    const { pollMs } = this.#settings;
    const { random } = this.#ports.runtime;
    if (this.#partitions.isHome(view)) view.rest(this.#isExpectingSoon ? EXPECTED_MS : UNTIL_ITS_TURN, random);
    // All workers together look at each of the others' as often as they pass by it.
    else
      view.rest(
        { fromMs: pollMs / 2, toMs: Math.max(pollMs / 2, this.#patrol.everyMs * this.#partitions.elsewhere.length) },
        random,
      );
  }
}
