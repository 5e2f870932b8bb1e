/**
 * The partitions of one queue as one worker sees them: its own shards, the lanes in use, and one view of each partition.
 *
 * The worker learns of shards beyond its settings from the queue's row: clients may use more shards than this deployment.
 * A lane is named by the queue's row, or by an entry that this worker has found in it.
 */
import { shuffled } from '../../core/runtime/random.ts';
import type { Lane } from '../task/lane.ts';
import { LANES, laneName } from '../task/lane.ts';
import { entriesOf } from './partition-entries.ts';
import type { PartitionPlace } from './partition-view.ts';
import { PartitionView } from './partition-view.ts';
import type { CandidatePorts } from './candidates.ts';

export interface PartitionSettings {
  readonly queue: string;
  readonly shards: number;
  readonly homeShards: readonly number[];
  /** Whether the worker exits when nothing is left. Otherwise it is long-lived. */
  readonly goesHome: boolean;
  /** Whether a dispatcher checks the lanes that the queue's row does not name. */
  readonly hasDispatcher: boolean;
  /** Interval of session heartbeats: a third of the time to find that a session has expired. */
  readonly heartbeatMs: number;
}

export interface PartitionPorts extends CandidatePorts {
  /** Names of the lanes in use; undefined: any may be in use. */
  readonly lanes: () => ReadonlySet<string> | undefined;
  /** The largest number of shards ever in use, if known. It may exceed the settings. */
  readonly shards: () => number | undefined;
}

/** Lane of tasks without a priority or tenant. Assumed to be in use if nothing else is known. */
const PLAIN_LANE = laneName({ priority: 'normal', isOfTenants: false });

export class Partitions {
  readonly #settings: PartitionSettings;
  readonly #ports: PartitionPorts;
  readonly #onUnnamed: (view: PartitionView) => void;
  readonly #home: number[];
  #elsewhere: readonly number[] = [];
  #shards = 0;
  readonly #views = new Map<string, PartitionView>();
  /** Lanes in which this worker has found entries. */
  readonly #metLanes = new Set<string>();
  /** Lanes that were in use at the last check. */
  #usedLanes: ReadonlySet<string> = new Set();

  /** @param onUnnamed receives each new view of a lane that the queue's row does not name */
  constructor(settings: PartitionSettings, ports: PartitionPorts, onUnnamed: (view: PartitionView) => void) {
    this.#settings = settings;
    this.#ports = ports;
    this.#onUnnamed = onUnnamed;
    this.#home = [...settings.homeShards];
    this.#meetShards(Math.max(settings.shards, ...this.#home.map((shard) => shard + 1)));
  }

  /** Number of known shards. */
  get shards(): number {
    return this.#shards;
  }

  get home(): readonly number[] {
    return this.#home;
  }

  /** Foreign shards; the first is the one whose last scan is the oldest. */
  get elsewhere(): readonly number[] {
    return this.#elsewhere;
  }

  get namedLanes(): readonly Lane[] {
    return LANES.filter((lane) => this.isNamed(lane));
  }

  /** Whether the queue's row or an entry found here names the lane. Until a dispatcher has noted the lanes, any may be in use. */
  isNamed(lane: Lane): boolean {
    const { goesHome, hasDispatcher } = this.#settings;
    const name = laneName(lane);
    if (this.#metLanes.has(name)) return true;
    return this.#ports.lanes()?.has(name) ?? (goesHome || hasDispatcher || name === PLAIN_LANE);
  }

  isHome({ shard }: Pick<PartitionPlace, 'shard'>): boolean {
    return this.#home.includes(shard);
  }

  /** Adds shards and lanes that the queue's row has named since. */
  meet(): void {
    this.#meetShards(this.#ports.shards() ?? 0);
    this.#wakeNewLanes();
  }

  /** Records that an entry was found in the lane. */
  met(lane: Lane): void {
    this.#metLanes.add(laneName(lane));
  }

  /** Returns the next foreign shard to scan; undefined if this worker owns all shards. */
  passBy(): number | undefined {
    const [shard, ...others] = this.#elsewhere;
    if (shard !== undefined) this.#elsewhere = [...others, shard];
    return shard;
  }

  /** Adopts a shard that has no live worker. */
  moveIn(shard: number): void {
    this.#home.push(shard);
    this.#elsewhere = this.#elsewhere.filter((other) => other !== shard);
    for (const view of this.#viewsOf([shard], this.namedLanes)) view.wake();
  }

  wakeHome(): void {
    for (const view of this.atHome()) view.wake();
  }

  atHome(lanes: readonly Lane[] = this.namedLanes): readonly PartitionView[] {
    return this.#viewsOf(this.#home, lanes);
  }

  /** Partitions of foreign shards. */
  ofOthers(lanes: readonly Lane[]): readonly PartitionView[] {
    return this.#viewsOf(this.#elsewhere, lanes);
  }

  #viewsOf(shards: readonly number[], lanes: readonly Lane[]): readonly PartitionView[] {
    return shards.flatMap((shard) => lanes.map((lane) => this.viewOf({ shard, lane })));
  }

  viewOf(place: PartitionPlace): PartitionView {
    const { shard, lane } = place;
    const name = `${laneName(lane)} ${shard}`;
    let view = this.#views.get(name);
    if (view === undefined) {
      const partition = { queue: this.#settings.queue, priority: lane.priority, shard };
      const options = {
        ...lane,
        isExpected: this.isNamed(lane),
        isHome: () => this.isHome(place),
        headEveryMs: this.#settings.heartbeatMs,
      };
      view = new PartitionView(place, entriesOf(partition, options, this.#ports), this.#ports.runtime.clock);
      // Until a dispatcher has noted the lanes, tasks may be in any of them. Afterwards its ticks check the unnamed ones.
      if (!this.isNamed(lane) && this.#ports.lanes() !== undefined) this.#onUnnamed(view);
      this.#views.set(name, view);
    }
    return view;
  }

  /** Clients may use more shards than this deployment, or an earlier deployment had more. */
  #meetShards(known: number): void {
    const met = Array.from({ length: known }, (_, shard) => shard).slice(this.#shards);
    const others = met.filter((shard) => !this.#home.includes(shard));
    // A long-lived worker that owns all shards also takes the new ones.
    const isEverywhere = !this.#settings.goesHome && this.#shards > 0 && this.#elsewhere.length === 0;
    if (isEverywhere) this.#home.push(...others);
    else this.#elsewhere = [...this.#elsewhere, ...shuffled(this.#ports.runtime.random, others)];
    this.#shards += met.length;
  }

  /** Wakes the partitions of newly named lanes; they rested because they were not named. */
  #wakeNewLanes(): void {
    const used = new Set(this.namedLanes.map(laneName));
    const added = new Set([...used].filter((name) => !this.#usedLanes.has(name)));
    for (const view of this.#views.values()) if (added.has(laneName(view.lane))) view.wake();
    this.#usedLanes = used;
  }
}
