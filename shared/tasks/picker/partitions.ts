/**
 * `Partitions` decides which partition is polled next, and when a worker has seen them all.
 *
 *   1. One that had more entries is polled at once: the highest priority first, own shards before others, and otherwise the one that was
 *      served longest ago.
 *   2. Every partition has a time at which it is due again. Then it is polled before those with
 *      more entries of its own or a lower priority, at most twice in a row, and not before one that was never polled.
 *      The longer the worker has found nothing, the later own partitions are due;
 *      those of lanes that nobody uses every minute or two; those of other workers' shards so often that all workers together poll each once a
 *      heartbeat.
 *      A worker that was started for due tasks polls these sooner while it finds none of its own: the plan may have dealt its shards more
 *      tasks than their workers have slots.
 *   3. A worker that exits when empty polls each own one that it has not seen empty, since something here last changed, before it exits,
 *      and a few of other workers.
 */
import { QUANTUM } from '../task/group-walk.ts';
import type { Lane } from '../task/lane.ts';
import { LANES, laneName } from '../task/lane.ts';
import type { Slice } from '../task/slice.ts';
import type { Priority } from '../task/task.ts';
import { PRIORITIES } from '../task/task.ts';
import type { PartitionPorts } from './partition.ts';
import { Partition } from './partition.ts';
import { Share } from './share.ts';
import {
  AFTER_FIRST_FIND,
  FRESH_MS,
  IDLE_AFTER_MS,
  MIN_POLL_GAP_MS,
  PLAIN_PER_GROUP,
  ROUNDS_PER_FIND,
  START_MS,
  UNUSED_EVERY_MS,
  jittered,
} from './tuning.ts';

export interface PartitionSettings {
  readonly queue: string;
  readonly shards: number;
  readonly homeShards: readonly number[];
  /** The worker's part of its home shards, if it shares them. Default: all of them. */
  readonly slice?: Slice | undefined;
  readonly heartbeatMs: number;
  /** Maximum gap between two polls. */
  readonly pollMs: number;
  /** The same after a minute without a find. Default: `pollMs`. */
  readonly idlePollMs?: number | undefined;
  /** Whether the worker exits when nothing is due. */
  readonly exitsWhenEmpty: boolean;
  /** Whether a dispatcher polls the lanes that the queue's row does not name. */
  readonly hasDispatcher: boolean;
}

export interface LanePorts {
  /** Names of the lanes in use. Undefined: any may be. */
  readonly lanes: () => ReadonlySet<string> | undefined;
  /** Number of shards that were ever in use, if known. It may be larger than the number in the settings. */
  readonly shards: () => number | undefined;
}

const PLAIN = laneName({ priority: 'normal', isOfGroups: false });

export class Partitions {
  readonly #settings: PartitionSettings;
  readonly #ports: PartitionPorts & LanePorts;
  readonly #share: Share;
  /** Names of lanes in which the worker has found tasks. */
  readonly #foundLanes: ReadonlySet<string>;
  readonly #byName = new Map<string, Partition>();
  /** What the partitions were last made from. */
  #listed: readonly unknown[] | undefined;
  #all: readonly Partition[] = [];
  /** Those of own shards and lanes in use. */
  #own: readonly Partition[] = [];
  /** Those that were polled and had nothing since something here last changed. */
  #empty = new Set<Partition>();
  #polls = 0;
  /** Polls of partitions that were due since the last one of a partition with more. */
  #scheduled = 0;
  #foundAt: number;
  #firstFoundAt: number | undefined;

  constructor(settings: PartitionSettings, ports: PartitionPorts & LanePorts, foundLanes: ReadonlySet<string>) {
    this.#settings = settings;
    this.#ports = ports;
    const { slice, homeShards, shards } = settings;
    this.#share = new Share(slice, slice !== undefined || homeShards.length < shards, ports.runtime.random);
    this.#foundLanes = foundLanes;
    this.#foundAt = this.#now;
    this.update();
  }

  /** @param areNoneHeld whether nothing is checked out, so that the worker may exit */
  next(areNoneHeld: boolean): Partition | undefined {
    const best = this.best;
    // In a slow store, what is due again would keep a worker that lives briefly from what it has never polled.
    const isFirst = best !== undefined && best.servedAt <= 0;
    const due = isFirst || (best !== undefined && this.#scheduled > 1) ? undefined : this.due(best?.lane.priority);
    this.#scheduled = due === undefined ? 0 : this.#scheduled + 1;
    return due ?? best ?? (areNoneHeld ? this.unseen : undefined);
  }

  /** The best partition that had more entries at its last poll. */
  get best(): Partition | undefined {
    const better = (one: Partition, other: Partition): number =>
      one.rank - other.rank || Number(other.isOwn) - Number(one.isOwn) || one.servedAt - other.servedAt;
    return this.#all.filter(({ isHot }) => isHot).toSorted(better)[0];
  }

  /** The partition that was due first, of a priority or a higher one. @param isAbove only of a higher one @param by when it was due */
  due(priority: Priority = 'low', isAbove = false, by = this.#now): Partition | undefined {
    const most = PRIORITIES.indexOf(priority) - Number(isAbove);
    return this.#all
      .filter(({ isHot, dueAt, rank }) => !isHot && dueAt <= by && rank <= most)
      .toSorted((one, other) => one.dueAt - other.dueAt)[0];
  }

  /** A partition that must be polled before the worker exits: all own ones, and a few of those of others, whose workers poll them too. */
  get unseen(): Partition | undefined {
    if (!this.#settings.exitsWhenEmpty) return undefined;
    const mayHaveTasks = this.#settings.hasDispatcher ? this.#all.filter(({ isInUse }) => isInUse) : this.#all;
    const [own, others] = [true, false].map((isOwn) => mayHaveTasks.filter((one) => one.isOwn === isOwn));
    // In random order, or the last ones of the others would never be seen by workers that exit soon.
    const unseen = (some: readonly Partition[] = []) =>
      some.filter((one) => !this.#empty.has(one)).toSorted((one, other) => one.servedAt - other.servedAt);
    const seen = (others?.length ?? 0) - unseen(others).length;
    return unseen(own)[0] ?? (seen < QUANTUM ? unseen(others)[0] : undefined);
  }

  /** Monotonic time of the next poll. */
  get dueAt(): number {
    return Math.min(...this.#all.map(({ isHot, dueAt }) => (isHot ? 0 : dueAt)));
  }

  /** Notes that a poll begins. @returns what to call with its result */
  poll(partition: Partition): (result: { readonly isEmpty: boolean; readonly pages: number }) => void {
    const empty = this.#empty;
    partition.servedAt = ++this.#polls;
    return ({ isEmpty, pages }) => {
      if (isEmpty) empty.add(partition);
      if (isEmpty && partition.isOwn && this.#settings.exitsWhenEmpty) this.#lookAround();
      const everyMs = jittered(this.#everyMs(partition), this.#ports.runtime.random);
      partition.dueAt = this.#now + Math.max(everyMs, partition.restMs(pages));
    };
  }

  /** Notes that something was found: there may be more, so own partitions are due sooner. */
  found(): void {
    this.#foundAt = this.#now;
    this.#firstFoundAt ??= this.#foundAt;
    for (const own of this.#own) own.dueAt = Math.min(own.dueAt, this.#now + this.#everyMs(own));
  }

  /** A worker that was started for due tasks, and finds none of its own, looks for what its plan has given to others. */
  #lookAround(): void {
    for (const one of this.#all) if (!one.isOwn) one.dueAt = Math.min(one.dueAt, this.#now + this.#everyMs(one));
  }

  /** Notes that something here has changed, so that any partition may have tasks. */
  change(): void {
    this.#empty = new Set();
  }

  /** Makes own partitions worth a poll: those of groups of a priority, or all of the priorities in use. */
  expect(ofGroups?: Priority): void {
    for (const one of this.#all) {
      const isMeant =
        ofGroups === undefined
          ? this.#own.some(({ rank }) => rank === one.rank)
          : one.lane.isOfGroups && one.lane.priority === ofGroups;
      one.isHot ||= one.isOwn && isMeant;
    }
  }

  /** Adds lanes and shards that the queue's row names since the last time, or in which a task was found. */
  update(): void {
    const { homeShards, exitsWhenEmpty } = this.#settings;
    const listed = [this.#ports.lanes(), this.#ports.shards(), this.#foundLanes.size];
    if (listed.every((one, at) => one === this.#listed?.[at])) return;
    this.#listed = listed;
    const shards = Math.max(this.#settings.shards, this.#ports.shards() ?? 0, ...homeShards.map((shard) => shard + 1));
    // A long-lived worker that owns all shards also serves shards that are added later.
    const ownsAll = !exitsWhenEmpty && homeShards.length >= this.#settings.shards;
    const inUse = new Set(LANES.filter((lane) => this.#isInUse(lane)));
    let hasChanged = false;
    for (let shard = 0; shard < shards; shard++)
      for (const lane of LANES) {
        const isOwn = ownsAll || homeShards.includes(shard);
        hasChanged = this.#set(lane, { shard, isOwn, isInUse: inUse.has(lane) }) || hasChanged;
      }
    if (!hasChanged) return;
    this.#all = [...this.#byName.values()].filter(({ isOwn, isInUse }) => isOwn || isInUse);
    this.#own = this.#all.filter(({ isOwn, isInUse }) => isOwn && isInUse);
  }

  /** @returns whether anything has changed */
  #set(
    lane: Lane,
    { shard, isOwn, isInUse }: { readonly shard: number; readonly isOwn: boolean; readonly isInUse: boolean },
  ): boolean {
    const { queue, heartbeatMs } = this.#settings;
    const { random } = this.#ports.runtime;
    const name = `${laneName(lane)} ${shard}`;
    const known = this.#byName.get(name);
    if (known?.isInUse === isInUse) return false;
    const place = { queue, priority: lane.priority, shard };
    const options = {
      place,
      lane,
      isOwn,
      share: isOwn ? this.#share : new Share(undefined, true, random),
      isInUse,
      heartbeatMs,
    };
    const partition = new Partition(options, this.#ports);
    this.#byName.set(name, partition);
    // Before the first tick, tasks may be in any lane.
    partition.isHot = isOwn && (isInUse || this.#ports.lanes() === undefined);
    // In random order, so that workers that share shards do not begin with the same one.
    partition.servedAt = -random.next();
    // What the plan has dealt to others is theirs, until the worker has seen that it has none of its own.
    partition.dueAt = this.#now + random.next() * (isOwn ? this.#everyMs(partition) : this.#othersMs);
    return true;
  }

  /** Whether the lane is in use, as far as is known. Tasks of keys that are tried again later stand in the plain lane. */
  #isInUse(lane: Lane): boolean {
    const { exitsWhenEmpty, hasDispatcher } = this.#settings;
    const listed = this.#ports.lanes();
    return [lane, { ...lane, isOfGroups: true }].some((one) => {
      const name = laneName(one);
      const isAssumed = exitsWhenEmpty || hasDispatcher || name === PLAIN;
      return this.#foundLanes.has(name) || (listed?.has(name) ?? isAssumed);
    });
  }

  #everyMs({ isInUse, isOwn, lane }: Partition): number {
    const { exitsWhenEmpty, hasDispatcher } = this.#settings;
    if (!isOwn) {
      const isFree = exitsWhenEmpty && this.best?.isOwn !== true;
      return isFree ? Math.min(this.#othersMs, Math.max(START_MS, (this.#now - this.#foundAt) / 2)) : this.#othersMs;
    }
    if (isInUse) return this.#roundMs(this.#own.length);
    // The first task with a tenant or an order, and others of the same priority, if no tick looks for it.
    const beside = this.#own.filter((own) => own.rank === PRIORITIES.indexOf(lane.priority)).length;
    return hasDispatcher || exitsWhenEmpty || beside === 0 ? UNUSED_EVERY_MS : PLAIN_PER_GROUP * beside * this.#mostMs;
  }

  /** All workers together poll each partition of others once a heartbeat. */
  get #othersMs(): number {
    const { shards, homeShards, heartbeatMs } = this.#settings;
    return (heartbeatMs * shards) / Math.max(1, homeShards.length);
  }

  /** How long a round of polls of so many partitions takes. */
  #roundMs(partitions: number): number {
    const hasFoundAgain = (this.#firstFoundAt ?? this.#foundAt) + FRESH_MS < this.#foundAt;
    const factor = this.#settings.exitsWhenEmpty && !hasFoundAgain ? AFTER_FIRST_FIND : 1;
    const leastMs = Math.max(partitions * MIN_POLL_GAP_MS, (this.#now - this.#foundAt) / ROUNDS_PER_FIND);
    return Math.min(this.#settings.heartbeatMs, partitions * this.#mostMs, factor * leastMs);
  }

  /** The longest gap between two polls. */
  get #mostMs(): number {
    const { pollMs, idlePollMs = pollMs } = this.#settings;
    return this.#now - this.#foundAt < IDLE_AFTER_MS ? pollMs : idlePollMs;
  }

  get #now(): number {
    return this.#ports.runtime.clock.monotonic();
  }
}
