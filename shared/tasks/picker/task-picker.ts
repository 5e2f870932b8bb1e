/**
 * `TaskPicker` decides which task a worker tries next.
 *
 * Candidates come from several sources: a partition of the ready index in an own or a foreign shard,
 * the next task of a key, and announced tasks. A poll reads one source. Three rules say which one is polled:
 *   1. A source that had more entries at its last poll is polled at once: the highest priority first, own shards before foreign ones,
 *      and otherwise the least recently served source.
 *   2. At times set by `poll-schedule.ts`, the least recently polled own source has its turn.
 *      While a source has more, only sources of its priority or a higher one have turns.
 *   3. In turn with these, foreign shards are scanned for tasks of crashed workers; a worker without other work helps there.
 * Announced tasks are read only if no source is worth a poll.
 *
 * Tasks of crashed workers are tried first. The oldest entries of an own partition are read again once a heartbeat.
 * So a later task of the partition can overtake a crashed worker's task by at most a heartbeat.
 *
 * A worker exits when it has polled all own sources since its last task ended, and foreign ones if that may have made tasks due there.
 * All of this is advisory: reads may be stale, and the condition of the claim decides.
 */
import type { Fullness } from '../task/key-limit.ts';
import type { Lane } from '../task/lane.ts';
import type { ReadyTask, TaskKey } from '../task/task.ts';
import { Announced } from './announced.ts';
import type { Candidate, Outcome } from './candidate.ts';
import type { Found } from './candidates.ts';
import { Candidates } from './candidates.ts';
import { ForeignShards } from './foreign-shards.ts';
import { DirectCandidates } from './direct-candidates.ts';
import type { Linked } from './key-capacity.ts';
import type { PartitionSource } from './partition-source.ts';
import type { PartitionPorts, PartitionSettings } from './partitions.ts';
import { Partitions } from './partitions.ts';
import { PollSchedule, jittered } from './poll-schedule.ts';
import { TakeRate } from './take-rate.ts';
import {
  FOREIGN_SAMPLE,
  FRESH_MS,
  MIN_POLL_GAP_MS,
  PAGE_ENTRIES,
  POLLS_PER_REFILL,
  UNFIT_RECHECK_MS,
} from './tuning.ts';

export interface PickerSettings extends PartitionSettings {
  /** Maximum gap between two polls: see `poll-schedule.ts`. */
  readonly pollMs: number;
  /** The same after a minute without a find. Default: `pollMs`. */
  readonly idlePollMs?: number | undefined;
  readonly maxClockSkewMs: number;
}

export interface PickerPorts extends PartitionPorts {
  /** Notifies resting slots that there is something to find now. */
  readonly onWorthPolling: () => void;
}

/** Candidates of one poll, as long as their rows are fresh. */
interface Buffer {
  readonly found: Found[];
  readonly source?: PartitionSource | undefined;
  readonly staleAtMonotonicMs: number;
}

const NOTHING: Buffer = { found: [], staleAtMonotonicMs: Infinity };

export class TaskPicker {
  readonly #settings: PickerSettings;
  readonly #ports: PickerPorts;
  readonly #candidates: Candidates;
  readonly #partitions: Partitions;
  readonly #foreign: ForeignShards;
  readonly #directCandidates: DirectCandidates;
  readonly #announced: Announced;
  readonly #schedule: PollSchedule;
  readonly #rate: TakeRate;
  #buffer = NOTHING;
  /** The number of slots that wait for a candidate, and the refill that they wait for. */
  #waiting = 0;
  #refilling: Promise<void> | undefined;
  /**
   * Counts events that may have made tasks due. The other two are its values when a task last ended here, and when a task here last made
   * others due in any shard.
   */
  #changes = 0;
  #endedAt = 0;
  #followedAt = -1;
  /** Whether everything was polled since the last task ended here, and nothing was found. */
  #isEmpty = false;

  constructor(session: string, settings: PickerSettings, ports: PickerPorts) {
    this.#settings = settings;
    this.#ports = ports;
    const part = settings.homeShards.length / settings.shards / (settings.slice?.of ?? 1);
    const onJoined = (lane: Lane): void => this.#partitions.found(lane);
    const onPassed = (): void => this.expectFollowers();
    this.#candidates = new Candidates({ session, ...settings, part }, { ...ports, onJoined, onPassed });
    this.#partitions = new Partitions(settings, ports);
    this.#foreign = new ForeignShards(settings, ports, this.#partitions);
    this.#directCandidates = new DirectCandidates(this.#candidates, ports);
    this.#announced = new Announced(this.#candidates);
    this.#schedule = new PollSchedule(settings, ports.runtime);
    this.#rate = new TakeRate(ports.runtime.clock);
  }

  /** Returns the next candidate; undefined if other workers hold all due tasks, or none is due. */
  async next(): Promise<Candidate | undefined> {
    if (this.#now > this.#buffer.staleAtMonotonicMs) this.#dropBuffer();
    const isWaiting = (): boolean => this.#buffer.found.length === 0 && this.#directCandidates.isEmpty;
    if (isWaiting()) await this.#refillOnce();
    if (isWaiting()) await this.#directCandidates.settled();
    const isDirect = !this.#directCandidates.isEmpty;
    const found = this.#take();
    if (found === undefined) return undefined;
    this.#rate.take();
    const slice = isDirect ? undefined : this.#buffer.source?.slice;
    return {
      ...found,
      begin: () => {
        slice?.claimed(true);
      },
      end: (outcome) => {
        // Workers that lose tasks of a key compete for its slots, which a slice of the tasks does not change.
        if (outcome === 'contended' && found.task.links?.concurrency === undefined) slice?.claimed(false);
        return this.#end(found, outcome);
      },
    };
  }

  /** Tasks named by the worker's event are tried before all others: the index may not show them yet. */
  beginWith(tasks: readonly TaskKey[]): Promise<void> {
    return this.#directCandidates.read(tasks);
  }

  /** Notes that tasks were enqueued. @param ids their ids, if known. Without ids, every own source is worth a poll */
  expectTasks(ids: readonly string[] = []): void {
    this.#isEmpty = false;
    if (ids.length > 0 && this.#announced.add(ids.map((id) => ({ queue: this.#settings.queue, id })))) return;
    this.#heatOwn();
  }

  /** Notes that a task here has made others due, in any shard. A worker that exits polls all its sources before; others read these rows. */
  expectFollowers(followers: readonly TaskKey[] = []): void {
    this.#followedAt = ++this.#changes;
    const { exitsWhenEmpty, queue: own } = this.#settings;
    this.expectTasks(exitsWhenEmpty ? [] : followers.flatMap(({ queue, id }) => (queue === own ? [id] : [])));
  }

  /** Returns how long a slot without a candidate rests, unless something wakes it. */
  get restMs(): number {
    const isAnnounced = !this.#announced.isEmpty;
    const restMs = isAnnounced || this.#hot().length > 0 ? 0 : this.#schedule.restMs;
    return Math.max(restMs, jittered(MIN_POLL_GAP_MS, this.#ports.runtime.random));
  }

  /** Waits for background work. Call it when this worker takes no more tasks. */
  finish(): Promise<void> {
    return this.#directCandidates.settled();
  }

  /** Whether no candidate is checked out and polls have found nothing since the last task ended. */
  get isDrained(): boolean {
    const isQuiet = this.#announced.isEmpty && !this.#isExpectingKey && !this.#directCandidates.isUnderWay;
    return this.#candidates.areNone && this.#isEmpty && isQuiet;
  }

  async #end({ kind, task }: Found, outcome: Outcome): Promise<void> {
    switch (outcome) {
      case 'ended':
      case 'settled':
      case 'kept':
        this.#ended(task, outcome);
        if (outcome !== 'kept') this.#releaseKeySlot(task);
        break;
      case 'expired':
      case 'undecided':
        this.#ended(task, outcome);
        this.#candidates.skip(task, outcome === 'expired' ? undefined : Infinity);
        break;
      case 'unfit':
        this.#candidates.skip(task, UNFIT_RECHECK_MS);
        break;
      case 'contended':
        this.#candidates.lost({ kind, task });
        break;
      case 'untried':
        break;
      default:
        if (kind === 'ready') await this.#turnAwayFull(task, outcome.full);
    }
    this.#candidates.places.leave(task);
    this.#candidates.putBack(task);
    // Slots rest until the last end is written. Now the worker may exit.
    if (this.#settings.exitsWhenEmpty && this.#candidates.areNone) this.#ports.onWorthPolling();
  }

  /** Its end may have made others due: a callback, a parent, the next of its key, the next of its line, which is tried at once if known. */
  #ended(task: Linked, outcome: Outcome): void {
    this.#endedAt = ++this.#changes;
    this.#isEmpty = false;
    this.#candidates.ended(task);
    if (task.links !== undefined) this.#followedAt = this.#changes;
    // A postponed task keeps its turn, and its batch waits for it.
    if (outcome === 'settled') return;
    const isOver = outcome === 'ended' || outcome === 'expired';
    const isFollowed = isOver && this.#directCandidates.followInLine(task, this.#heatOwn.bind(this));
    if (task.links?.batch !== undefined || (task.links?.line !== undefined && !isFollowed)) this.#heatOwn();
  }

  /** The next known task of its key is tried before all others. */
  #releaseKeySlot(task: Linked): void {
    if (task.links?.concurrency === undefined) return;
    const { places } = this.#candidates;
    places.leave(task);
    this.#directCandidates.propose(this.#candidates.nextOfKey(task));
    // The last known task takes the slot; read more of them while it runs.
    if (places.isNextKnown(task)) return;
    if (!this.#directCandidates.callBack(task))
      for (const source of this.#partitions.own()) source.isHot ||= source.hasFound;
    this.#ports.onWorthPolling();
  }

  /** It is polled again when a task of its key ends here, or after a while. */
  async #turnAwayFull(task: ReadyTask, full: Fullness): Promise<void> {
    this.#isEmpty = false;
    this.#candidates.postponeBriefly(task);
    this.#candidates.places.seeFull(task, full);
    await this.#candidates.joinGroups([task]);
  }

  async #refillOnce(): Promise<void> {
    this.#waiting++;
    this.#refilling ??= this.#refill().finally(() => (this.#refilling = undefined));
    await this.#refilling.finally(() => void this.#waiting--);
  }

  /** Polls until one shows something to try, or none is worth a poll. */
  async #refill(): Promise<void> {
    // Slots that ask at the same time share one poll.
    await Promise.resolve();
    this.#partitions.update();
    this.#candidates.forgetHeld();
    const isNothing = (): boolean => this.#buffer.found.length === 0 && this.#directCandidates.isEmpty;
    if (isNothing()) this.#fill(await this.#candidates.calledBackInTurn());
    for (let polls = 0; polls < POLLS_PER_REFILL && isNothing(); polls++) {
      if (!(await this.#pollNext())) break;
    }
    if (isNothing()) this.#fill(await this.#candidates.calledBackInTurn());
    if (this.#buffer.found.length === 0 && !this.#announced.isEmpty) this.#fill(await this.#announced.poll());
    if (this.#buffer.found.length === 0) this.#fill(await this.#candidates.abandonedRunners());
    const isIdle = this.#buffer.found.length === 0 && this.#candidates.areNone;
    this.#isEmpty = isIdle && this.#hot().length === 0 && this.#unseen() === undefined;
  }

  /** @returns whether a source was worth a poll */
  async #pollNext(): Promise<boolean> {
    const [best] = this.#hot();
    const pending = best ?? this.#unseen();
    const scanned = best !== undefined && this.#foreign.isScanDue ? this.#foreign.oldest : undefined;
    const isScanFirst = this.#foreign.scanAtMonotonicMs < this.#schedule.dueAtMonotonicMs;
    const turn = (isScanFirst && scanned !== undefined ? undefined : this.#turn(best)) ?? scanned;
    const source = turn ?? pending;
    if (source === undefined) return false;
    await (turn !== undefined && turn === scanned ? this.#scan(turn) : this.#poll(source));
    return true;
  }

  /** Sources that had more entries at their last poll, in the order in which to poll them. */
  #hot(): readonly PartitionSource[] {
    const isForeign = (source: PartitionSource): number => Number(!this.#partitions.isOwn(source));
    return [...this.#partitions.own(), ...this.#partitions.unused(), ...this.#partitions.foreign()]
      .filter(({ isHot }) => isHot)
      .sort(
        (one, other) => one.rank - other.rank || isForeign(one) - isForeign(other) || one.servedAt - other.servedAt,
      );
  }

  /** The source to poll now by the schedule, if any. */
  #turn(best: PartitionSource | undefined): PartitionSource | undefined {
    if (!this.#schedule.isDue) return undefined;
    const own = this.#partitions.own();
    const unused = this.#settings.hasDispatcher ? [] : this.#partitions.unused();
    const isUnused = this.#schedule.beginUnused(unused.length, this.#ports.lanes() !== undefined);
    const pool = (isUnused ? unused : own).filter((source) => best === undefined || source.rank <= best.rank);
    const foreign = best === undefined && !isUnused ? this.#foreign.oldest : undefined;
    const cool = pool.filter(({ isHot, isResting }) => !isHot && !isResting);
    const turn = oldestPoll([...cool, ...(foreign === undefined ? [] : [foreign])]);
    if (turn !== undefined) this.#schedule.begin(own.filter(({ isResting }) => !isResting).length);
    return turn;
  }

  /** A source that must be polled before the worker exits, if any. */
  #unseen(): PartitionSource | undefined {
    if (!this.#settings.exitsWhenEmpty || !this.#candidates.areNone || this.#isEmpty) return undefined;
    return this.#partitions.unseen({ endedAt: this.#endedAt, followedAt: this.#followedAt });
  }

  async #poll(source: PartitionSource): Promise<void> {
    const isOwn = this.#partitions.isOwn(source);
    const most = Math.min(PAGE_ENTRIES, Math.max(1, this.#waiting, this.#rate.expected));
    const foreignRows = source.isHeldByOthers ? PAGE_ENTRIES : source.isHot ? Math.min(most, FOREIGN_SAMPLE) : 1;
    const hints = await source.next({
      now: this.#ports.runtime.clock.now(),
      wanted: isOwn ? most : foreignRows,
      ...this.#candidates.worthOf(source.name),
      changes: this.#changes,
    });
    if (hints.length > 0) this.#partitions.found(source.lane);
    const { found, taken } = await this.#candidates.choose(hints, isOwn ? Infinity : this.#aHeartbeatAgo);
    source.isHeldByOthers = hints.length > 0 && found.length === 0;
    // Reading two rows that other workers have taken costs as much as reading the page again.
    if (isOwn && taken >= 2) source.readAgain();
    // The tasks of a full key hide a crashed worker's task behind them.
    const isOfFullKeys = source.lane.isOfGroups && taken < hints.length;
    source.isHot = source.hasMore && (isOwn || hints.length === 0 || found.length > 0 || isOfFullKeys);
    if (!isOwn && found.some(({ kind }) => kind === 'abandoned')) this.#partitions.adopt(source.shard);
    this.#giveBack(source, found.slice(most));
    this.#fill(found.slice(0, most), source);
  }

  /** Polls only for tasks of crashed workers. */
  async #scan(source: PartitionSource): Promise<void> {
    const hints = await this.#foreign.scan(source, this.#candidates.worthOf(source.name));
    const { found } = await this.#candidates.choose(hints, this.#aHeartbeatAgo);
    const abandoned = found.filter(({ kind }) => kind === 'abandoned');
    for (const { kind, task } of found) if (kind !== 'abandoned') this.#candidates.putBack(task);
    if (abandoned.length > 0) this.#partitions.adopt(source.shard);
    this.#fill(abandoned, source);
  }

  #fill(found: readonly Found[], source?: PartitionSource): void {
    if (found.length === 0) return;
    this.#isEmpty = false;
    this.#buffer = { found: [...found], source, staleAtMonotonicMs: this.#now + FRESH_MS };
    this.#schedule.found(this.#partitions.own().length, this.#endedAt === 0);
  }

  /** Drops candidates that slots did not take while they were fresh. They are read again when their source has its turn. */
  #dropBuffer(): void {
    const { found, source } = this.#buffer;
    this.#buffer = NOTHING;
    this.#giveBack(source, found);
  }

  /** Returns the next candidate whose key may have capacity, as far as this worker knows. */
  #take(): Found | undefined {
    const { places } = this.#candidates;
    for (;;) {
      const found = this.#directCandidates.next() ?? this.#buffer.found.shift();
      if (found?.kind !== 'ready') return found;
      if (places.mayHaveRoom(found.task)) {
        places.enter(found.task);
        return found;
      }
      this.#candidates.postponeBriefly(found.task);
      this.#candidates.putBack(found.task);
    }
  }

  #giveBack(source: PartitionSource | undefined, found: readonly Found[]): void {
    for (const { task } of found) this.#candidates.putBack(task);
    source?.giveBack(found.map(({ task: { queue, id, readyAt } }) => ({ queue, id, readyAt })));
  }

  #heatOwn(): void {
    for (const source of this.#partitions.own()) source.isHot = true;
  }

  /** If the worker exited, tasks that wait for a slot of their key would have to wait for the next tick. */
  get #isExpectingKey(): boolean {
    return this.#candidates.places.areExpecting;
  }

  /** A session that has claimed a task since then cannot have expired yet, so it is not read. */
  get #aHeartbeatAgo(): number {
    return this.#ports.runtime.clock.now() - this.#settings.heartbeatMs;
  }

  get #now(): number {
    return this.#ports.runtime.clock.monotonic();
  }
}

function oldestPoll(sources: readonly PartitionSource[]): PartitionSource | undefined {
  return sources.toSorted((one, other) => one.polledAtMonotonicMs - other.polledAtMonotonicMs)[0];
}
