/**
 * The partitions of one queue as one worker sees them: which shards it is at home in, which lanes are in use, and one view of each
 * partition.
 *
 * Shards beyond those of the settings are met when the queue's row tells of them: clients may have more than this deployment.
 * A lane is named by the queue's row, or by an entry that was met in it here.
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
  /** Whether it is asked at some time if nothing is left; else its worker stays. */
  readonly goesHome: boolean;
  /** Whether a dispatcher looks at the lanes that the queue's row does not name. */
  readonly hasDispatcher: boolean;
  /** How often workers' sessions are renewed: a third of what it takes to see that one is dead. */
  readonly heartbeatMs: number;
}

export interface PartitionPorts extends CandidatePorts {
  /** Names of the lanes that are in use; undefined: any may be. */
  readonly lanes: () => ReadonlySet<string> | undefined;
  /** How many shards were ever in use, if that is known: some may be beyond those of the settings. */
  readonly shards: () => number | undefined;
}

/** Where tasks stand that are given no other: in use, for all that anyone knows. */
const PLAIN_LANE = laneName({ priority: 'normal', isOfTenants: false });

export class Partitions {
  readonly #settings: PartitionSettings;
  readonly #ports: PartitionPorts;
  readonly #onUnnamed: (view: PartitionView) => void;
  readonly #home: number[];
  #elsewhere: readonly number[] = [];
  #shards = 0;
  readonly #views = new Map<string, PartitionView>();
  /** Lanes that entries were met in here. */
  readonly #metLanes = new Set<string>();
  /** Lanes that were in use when it was looked last. */
  #usedLanes: ReadonlySet<string> = new Set();

  /** @param onUnnamed is given each new view of a lane that the queue's row does not name */
  constructor(settings: PartitionSettings, ports: PartitionPorts, onUnnamed: (view: PartitionView) => void) {
    this.#settings = settings;
    this.#ports = ports;
    this.#onUnnamed = onUnnamed;
    this.#home = [...settings.homeShards];
    this.#meetShards(Math.max(settings.shards, ...this.#home.map((shard) => shard + 1)));
  }

  /** How many shards are known. */
  get shards(): number {
    return this.#shards;
  }

  get home(): readonly number[] {
    return this.#home;
  }

  /** Others' shards, the one that was passed by longest ago first. */
  get elsewhere(): readonly number[] {
    return this.#elsewhere;
  }

  get namedLanes(): readonly Lane[] {
    return LANES.filter((lane) => this.isNamed(lane));
  }

  /** By the queue's row, or by what was met here. Where no dispatcher has looked, any may be in use. */
  isNamed(lane: Lane): boolean {
    const { goesHome, hasDispatcher } = this.#settings;
    const name = laneName(lane);
    if (this.#metLanes.has(name)) return true;
    return this.#ports.lanes()?.has(name) ?? (goesHome || hasDispatcher || name === PLAIN_LANE);
  }

  isHome({ shard }: Pick<PartitionPlace, 'shard'>): boolean {
    return this.#home.includes(shard);
  }

  /** Shards and lanes that the queue's row has named since. */
  meet(): void {
    this.#meetShards(this.#ports.shards() ?? 0);
    this.#wakeNewLanes();
  }

  /** An entry was found in it. */
  met(lane: Lane): void {
    this.#metLanes.add(laneName(lane));
  }

  /** The next of others' shards to be passed by; undefined when all are at home here. */
  passBy(): number | undefined {
    const [shard, ...others] = this.#elsewhere;
    if (shard !== undefined) this.#elsewhere = [...others, shard];
    return shard;
  }

  /** No worker is at home there. */
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

  /** In others' shards. */
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
      // Before a dispatcher has looked, tasks may stand anywhere; afterwards its ticks look there.
      if (!this.isNamed(lane) && this.#ports.lanes() !== undefined) this.#onUnnamed(view);
      this.#views.set(name, view);
    }
    return view;
  }

  /** Clients may have more of them than this deployment, or an earlier one had. */
  #meetShards(known: number): void {
    const met = Array.from({ length: known }, (_, shard) => shard).slice(this.#shards);
    const others = met.filter((shard) => !this.#home.includes(shard));
    // A worker that stays, and is at home everywhere, serves what comes as well.
    const isEverywhere = !this.#settings.goesHome && this.#shards > 0 && this.#elsewhere.length === 0;
    if (isEverywhere) this.#home.push(...others);
    else this.#elsewhere = [...this.#elsewhere, ...shuffled(this.#ports.runtime.random, others)];
    this.#shards += met.length;
  }

  /** What rested because it was not named need not rest any longer. */
  #wakeNewLanes(): void {
    const used = new Set(this.namedLanes.map(laneName));
    const added = new Set([...used].filter((name) => !this.#usedLanes.has(name)));
    for (const view of this.#views.values()) if (added.has(laneName(view.lane))) view.wake();
    this.#usedLanes = used;
  }
}
