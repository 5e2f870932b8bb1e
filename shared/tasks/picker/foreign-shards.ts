/**
 * `ForeignShards` decides when a worker polls foreign shards, and finds the tasks of crashed workers there.
 *
 * All workers together scan each foreign partition about once a heartbeat, however many workers there are.
 * A scan reads one of the oldest entries. Workers start with the oldest entries, so a crashed worker's tasks are among them.
 */
import { integerBetween } from '../../core/runtime/random.ts';
import type { ReadyEntry } from '../task/task-store.ts';
import type { PartitionSource, ReadQuery } from './partition-source.ts';
import type { PartitionPorts, PartitionSettings, Partitions } from './partitions.ts';
import { FOREIGN_SAMPLE, SCAN_ENTRIES } from './tuning.ts';

export class ForeignShards {
  readonly #settings: PartitionSettings;
  readonly #ports: PartitionPorts;
  readonly #partitions: Partitions;
  #scanAtMonotonicMs: number;

  constructor(settings: PartitionSettings, ports: PartitionPorts, partitions: Partitions) {
    this.#settings = settings;
    this.#ports = ports;
    this.#partitions = partitions;
    this.#scanAtMonotonicMs = ports.runtime.clock.monotonic() + this.#scanEveryMs * ports.runtime.random.next();
  }

  get isScanDue(): boolean {
    return this.#scanAtMonotonicMs <= this.#ports.runtime.clock.monotonic();
  }

  get scanAtMonotonicMs(): number {
    return this.#scanAtMonotonicMs;
  }

  /** The partition that was served longest ago. */
  get oldest(): PartitionSource | undefined {
    return this.#partitions.foreign().toSorted((one, other) => one.servedAt - other.servedAt)[0];
  }

  /** Returns one of a partition's oldest entries that are worth reading. */
  async scan(
    source: PartitionSource,
    worth: Pick<ReadQuery, 'isWorthReading' | 'lookAt' | 'admit'>,
  ): Promise<readonly ReadyEntry[]> {
    const { tasks, runtime, onDamaged } = this.#ports;
    const now = runtime.clock.now();
    this.#scanAtMonotonicMs = runtime.clock.monotonic() + this.#scanEveryMs;
    // It takes only tasks of crashed workers, so it is no poll: the source stays as unseen as it was.
    if (source.lane.isOfGroups) return source.next({ ...worth, now, wanted: 1, changes: source.seenChanges });
    source.serve();
    const partition = { queue: this.#settings.queue, priority: source.lane.priority, shard: source.shard };
    const { hints } = await tasks.page(partition, { now, limit: SCAN_ENTRIES, onDamaged });
    const oldest = hints.filter(worth.isWorthReading).slice(0, FOREIGN_SAMPLE);
    const at = integerBetween(runtime.random, 0, oldest.length);
    return oldest.slice(at, at + 1);
  }

  /** Estimates the number of workers from the number of shards of each worker. */
  get #scanEveryMs(): number {
    const { homeShards, heartbeatMs } = this.#settings;
    const workers = this.#partitions.shards / homeShards.length;
    return (heartbeatMs * workers) / Math.max(1, this.#partitions.foreign().length);
  }
}
