/**
 * How a busy worker passes by the shards of others, one at a time, for the tasks of the dead.
 *
 * All workers share the rate, so that each shard is passed by as often however many they are.
 * Where tasks of the dead are found, no worker is at home; the one that found them moves in.
 */
import { allOf } from '../../core/runtime/all-of.ts';
import { shuffled } from '../../core/runtime/random.ts';
import type { ReadyHint } from '../task/task-store.ts';
import type { Candidates, Found } from './candidates.ts';
import type { PartitionPlace, PartitionView } from './partition-view.ts';
import type { PartitionPorts, PartitionSettings, Partitions } from './partitions.ts';

/** A dead worker's shards wait for a heartbeat at most until another worker passes by: a third of what it takes to see that it is dead. */
const PATROL_HEARTBEATS = 1;
/** Entries of a shard that is passed by: as many as half a read unit buys. Those that are known to be held are left out. */
const PATROL_LIMIT = 25;
/** One of so many oldest is read: a worker takes the oldest first, so where it has died, it held most of them. */
const PATROLLED = 4;

interface PatrolParts {
  readonly partitions: Partitions;
  readonly candidates: Candidates;
  /** The next of a partition whose entries are in no order of time. */
  readonly nextOf: (view: PartitionView) => Promise<readonly ReadyHint[]>;
}

export class Patrol {
  readonly #settings: PartitionSettings;
  readonly #ports: PartitionPorts;
  readonly #parts: PatrolParts;
  #dueAtMonotonicMs: number;

  constructor(settings: PartitionSettings, ports: PartitionPorts, parts: PatrolParts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#parts = parts;
    const { clock, random } = ports.runtime;
    this.#dueAtMonotonicMs = clock.monotonic() + this.everyMs * random.next();
  }

  /** All workers together pass by every shard once in this time; how many there are is told by how many shards each was given. */
  get everyMs(): number {
    const { homeShards, heartbeatMs } = this.#settings;
    const { shards, elsewhere } = this.#parts.partitions;
    const workers = shards / homeShards.length;
    return (PATROL_HEARTBEATS * heartbeatMs * workers) / Math.max(1, elsewhere.length);
  }

  /**
   * Looks at one of another shard's oldest entries, if it is time, for tasks whose holders are dead:
   * the worker at home there may be the one that died.
   */
  async next(now: number): Promise<Found[]> {
    if (now < this.#dueAtMonotonicMs) return [];
    const { partitions, candidates } = this.#parts;
    const shard = partitions.passBy();
    if (shard === undefined) return [];
    this.#dueAtMonotonicMs = now + this.everyMs;
    const oldest = await allOf(partitions.namedLanes.map((lane) => this.#oneOfOldest({ shard, lane })));
    // A session that claimed a task within a heartbeat cannot be found dead yet.
    const claimedBefore = this.#ports.runtime.clock.now() - this.#settings.heartbeatMs;
    const seen = await candidates.choose(oldest.flat(), claimedBefore);
    const abandoned = seen.filter(({ kind }) => kind === 'abandoned');
    for (const { kind, task } of seen) if (kind !== 'abandoned') candidates.putBack(task);
    if (abandoned.length > 0) partitions.moveIn(shard);
    return abandoned;
  }

  async #oneOfOldest({ shard, lane }: PartitionPlace): Promise<readonly ReadyHint[]> {
    const { partitions, candidates, nextOf } = this.#parts;
    if (lane.isOfTenants) return nextOf(partitions.viewOf({ shard, lane }));
    const { tasks, runtime, onDamaged } = this.#ports;
    const partition = { queue: this.#settings.queue, priority: lane.priority, shard };
    const { hints } = await tasks.page(partition, { now: runtime.clock.now(), limit: PATROL_LIMIT, onDamaged });
    const oldest = hints.filter((hint) => candidates.isWorthReading(hint)).slice(0, PATROLLED);
    return shuffled(runtime.random, oldest).slice(0, 1);
  }
}
