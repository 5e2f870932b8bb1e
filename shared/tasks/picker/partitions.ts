/**
 * `Partitions` are the sources of one worker: one `PartitionSource` for each shard and lane, in own and in foreign shards.
 *
 * A lane is *named* if the queue's row lists it, or if this worker has found an entry in it.
 * Clients may have more shards than this deployment; shards beyond the settings are added when the queue's row counts them.
 */
import { shuffled } from '../../core/runtime/random.ts';
import type { Lane } from '../task/lane.ts';
import { LANES, laneName } from '../task/lane.ts';
import type { Slice } from '../task/slice.ts';
import type { CandidatePorts } from './candidates.ts';
import { ChosenSlice } from './chosen-slice.ts';
import { entriesOf } from './partition-entries.ts';
import type { PartitionPlace } from './partition-source.ts';
import { PartitionSource, TurnCount } from './partition-source.ts';
import { BESIDE_PLAIN_MS, FOREIGN_SAMPLE, HELD_RECHECK_MS } from './tuning.ts';

export interface PartitionSettings {
  readonly queue: string;
  readonly shards: number;
  readonly homeShards: readonly number[];
  /** The worker's part of its home shards, if it shares them. Default: all of them. */
  readonly slice?: Slice | undefined;
  /** Whether the worker exits when nothing is due. */
  readonly exitsWhenEmpty: boolean;
  /** Whether a dispatcher polls the lanes that the queue's row does not name. */
  readonly hasDispatcher: boolean;
  /** Renewal interval of workers' sessions: a third of the time after which a crashed worker is found. */
  readonly heartbeatMs: number;
}

export interface PartitionPorts extends CandidatePorts {
  /** Names of the lanes in use. Undefined: any may be. */
  readonly lanes: () => ReadonlySet<string> | undefined;
  /** Number of shards that were ever in use, if known. It may be larger than the number in the settings. */
  readonly shards: () => number | undefined;
}

/** The picker's counts of changes: when a task last ended here, and when one last made others due in any shard. */
interface Seen {
  readonly endedAt: number;
  readonly followedAt: number;
}

/** The lane of tasks without priority and tenant. It counts as used until the queue's row is read. */
const PLAIN_LANE = laneName({ priority: 'normal', isOfGroups: false });

export class Partitions {
  readonly #settings: PartitionSettings;
  readonly #turns = new TurnCount();
  readonly #ports: PartitionPorts;
  readonly #own: number[];
  #foreign: readonly number[] = [];
  #shards = 0;
  readonly #sources = new Map<string, PartitionSource>();
  /** Lanes in which this worker has found entries. */
  readonly #foundLanes = new Set<string>();
  /** Lanes that were named at the last `update`. */
  #namedBefore: ReadonlySet<string> = new Set();

  constructor(settings: PartitionSettings, ports: PartitionPorts) {
    this.#settings = settings;
    this.#ports = ports;
    // In random order, so that workers that share shards do not begin with the same one.
    this.#own = shuffled(ports.runtime.random, settings.homeShards);
    this.#addShards(Math.max(settings.shards, ...this.#own.map((shard) => shard + 1)));
  }

  get shards(): number {
    return this.#shards;
  }

  get namedLanes(): readonly Lane[] {
    return LANES.filter((lane) => this.#isNamed(lane));
  }

  isOwn({ shard }: Pick<PartitionPlace, 'shard'>): boolean {
    return this.#own.includes(shard);
  }

  /** Adds shards and lanes that have been added to the queue's row. */
  update(): void {
    this.#addShards(this.#ports.shards() ?? 0);
    const named = this.namedLanes.map(laneName);
    const added = new Set(named.filter((name) => !this.#namedBefore.has(name)));
    this.#namedBefore = new Set(named);
    if (added.size > 0) for (const source of this.own()) source.isHot ||= added.has(laneName(source.lane));
  }

  /** Notes that an entry was found in the lane. */
  found(lane: Lane): void {
    this.#foundLanes.add(laneName(lane));
  }

  /** Adopts a shard that no worker serves: from now on it is an own shard. */
  adopt(shard: number): void {
    this.#own.push(shard);
    this.#foreign = this.#foreign.filter((other) => other !== shard);
    for (const source of this.#of([shard], this.namedLanes)) source.isHot = true;
  }

  own(lanes: readonly Lane[] = this.namedLanes): readonly PartitionSource[] {
    return this.#of(this.#own, lanes);
  }

  /** Own partitions of lanes that are not named. */
  unused(): readonly PartitionSource[] {
    return this.own(LANES.filter((lane) => !this.#isNamed(lane)));
  }

  foreign(): readonly PartitionSource[] {
    return this.#of(this.#foreign, this.namedLanes);
  }

  /**
   * Returns a source that was not polled since the last task ended here, if any. A dispatcher polls lanes that are not named, but a task that
   * made others due may have done so in any lane and shard.
   */
  unseen({ endedAt, followedAt }: Seen): PartitionSource | undefined {
    const isUnseen = (since: number) => (source: PartitionSource) => source.seenChanges < since;
    // A worker that has found tasks there finds the next ones first.
    const foreign = this.foreign().toSorted((one, other) => Number(other.hasFound) - Number(one.hasFound));
    const left = FOREIGN_SAMPLE - foreign.filter((source) => !isUnseen(endedAt)(source)).length;
    return (
      this.own().find(isUnseen(endedAt)) ??
      this.unused().find(isUnseen(this.#settings.hasDispatcher ? followedAt : endedAt)) ??
      foreign.find(isUnseen(followedAt)) ??
      (left > 0 ? shuffled(this.#ports.runtime.random, foreign.filter(isUnseen(endedAt)))[0] : undefined)
    );
  }

  #isNamed(lane: Lane): boolean {
    return this.#isListed(lane) || this.#besideMs(lane) > 0;
  }

  /** Whether the queue's row or an entry found here names the lane. Before the first tick, any lane may be in use. */
  #isListed(lane: Lane): boolean {
    const { exitsWhenEmpty, hasDispatcher } = this.#settings;
    const name = laneName(lane);
    if (this.#foundLanes.has(name)) return true;
    return this.#ports.lanes()?.has(name) ?? (exitsWhenEmpty || hasDispatcher || name === PLAIN_LANE);
  }

  /**
   * How long a partition of the lane rests after a poll that found nothing, if only the other lane of its priority is listed. A queue whose
   * tasks have keys uses both, because tasks that are tried again later stand without the others of their key. 0: it does not rest.
   */
  #besideMs(lane: Lane): number {
    const isBeside = !this.#isListed(lane) && this.#isListed({ ...lane, isOfGroups: !lane.isOfGroups });
    if (!isBeside) return 0;
    if (!lane.isOfGroups) return HELD_RECHECK_MS;
    // Otherwise a tick lists it.
    return this.#ports.lanes() === undefined ? BESIDE_PLAIN_MS : 0;
  }

  #of(shards: readonly number[], lanes: readonly Lane[]): readonly PartitionSource[] {
    return shards.flatMap((shard) => lanes.map((lane) => this.#sourceOf({ shard, lane })));
  }

  #sourceOf(place: PartitionPlace): PartitionSource {
    const { shard, lane } = place;
    const name = `${laneName(lane)} ${shard}`;
    const known = this.#sources.get(name);
    if (known !== undefined) return known;
    const partition = { queue: this.#settings.queue, priority: lane.priority, shard };
    const { clock, random } = this.#ports.runtime;
    const slice = new ChosenSlice(this.#settings.homeShards.includes(shard) ? this.#settings.slice : undefined, random);
    const options = {
      ...lane,
      isExpected: this.#isNamed(lane),
      isOwn: () => this.isOwn(place),
      headEveryMs: this.#settings.heartbeatMs,
      slice,
    };
    const source = new PartitionSource(place, entriesOf(partition, options, this.#ports), {
      clock,
      slice,
      turns: this.#turns,
      heartbeatMs: this.#settings.heartbeatMs,
      restMs: () => this.#besideMs(lane),
    });
    // Before the first tick, tasks may be in any lane.
    source.isHot = this.isOwn(place) && (this.#isNamed(lane) || this.#ports.lanes() === undefined);
    this.#sources.set(name, source);
    return source;
  }

  #addShards(known: number): void {
    const added = Array.from({ length: known }, (_, shard) => shard).slice(this.#shards);
    const others = added.filter((shard) => !this.#own.includes(shard));
    // A long-lived worker that owns all shards also serves shards that are added later.
    const ownsAll = !this.#settings.exitsWhenEmpty && this.#shards > 0 && this.#foreign.length === 0;
    if (ownsAll) this.#own.push(...others);
    else this.#foreign = [...this.#foreign, ...shuffled(this.#ports.runtime.random, others)];
    this.#shards += added.length;
  }
}
