/**
 * Scans foreign shards for abandoned tasks while the worker is busy, one shard at a time.
 *
 * All workers share the rate, so the number of workers does not change how often a shard is scanned.
 * A shard with abandoned tasks has no live worker, so the worker that found them adopts it.
 */
import { allOf } from '../../core/runtime/all-of.ts';
import { shuffled } from '../../core/runtime/random.ts';
import type { ReadyHint } from '../task/task-store.ts';
import type { Candidates, Found } from './candidates.ts';
import type { PartitionPlace, PartitionView } from './partition-view.ts';
import type { PartitionPorts, PartitionSettings, Partitions } from './partitions.ts';

/** A crashed worker's shards wait at most one heartbeat for the next scan: a third of the time to find that its session has expired. */
const PATROL_HEARTBEATS = 1;
/** Entries read per scan of a shard: as many as half a read unit buys. Tasks known to be held are left out. */
const PATROL_LIMIT = 25;
/** The scan reads one row among this many of the oldest: workers take the oldest tasks first, so a crashed worker held most of them. */
const PATROLLED = 4;

interface PatrolParts {
  readonly partitions: Partitions;
  readonly candidates: Candidates;
  /** Returns the next entries of a partition that is not ordered by time. */
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

  /**
   * Interval of this worker's scans. All workers together scan every shard once per heartbeat.
   * The number of shards that this worker was given tells how many workers there are.
   */
  get everyMs(): number {
    const { homeShards, heartbeatMs } = this.#settings;
    const { shards, elsewhere } = this.#parts.partitions;
    const workers = shards / homeShards.length;
    return (PATROL_HEARTBEATS * heartbeatMs * workers) / Math.max(1, elsewhere.length);
  }

  /**
   * If a scan is due, reads one of the oldest entries of a foreign shard, and returns the task if it is abandoned:
   * the worker that owns the shard may have crashed.
   */
  async next(now: number): Promise<Found[]> {
    if (now < this.#dueAtMonotonicMs) return [];
    const { partitions, candidates } = this.#parts;
    const shard = partitions.passBy();
    if (shard === undefined) return [];
    this.#dueAtMonotonicMs = now + this.everyMs;
    const oldest = await allOf(partitions.namedLanes.map((lane) => this.#oneOfOldest({ shard, lane })));
    // A session that claimed a task within a heartbeat cannot have expired yet.
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
