/** How many workers a backlog justifies, and where each begins: pure. */
import type { ReadyPartition } from '../task/task-store.ts';

/** Entries due in one partition of the ready index, counted up to a bound. */
export interface PartitionBacklog {
  readonly partition: ReadyPartition;
  readonly due: number;
}

export interface PlanSettings {
  readonly shards: number;
  /** Hard cap of workers at one time. */
  readonly maxWorkers: number;
  /** A worker is started for each so many tasks that are due. */
  readonly tasksPerWorker: number;
}

/** The home shards of each worker to be started. */
export type Plan = readonly (readonly number[])[];

/**
 * Starts the difference between what the backlog justifies and what is at work.
 * Entries that are being worked on still count as due, which is right: their workers count too.
 */
export function planWorkers(backlog: readonly PartitionBacklog[], liveWorkers: number, settings: PlanSettings): Plan {
  const due = backlog.reduce((sum, { due }) => sum + due, 0);
  const wanted = Math.min(settings.maxWorkers, Math.ceil(due / settings.tasksPerWorker));
  const count = Math.max(0, wanted - liveWorkers);
  return spreadShards(shardsByBacklog(backlog, settings.shards), count);
}

/** Deals the shards to the workers, fullest first, so that each begins with work and none begins where another does while shards last. */
function spreadShards(shards: readonly number[], workers: number): Plan {
  const rounds = Math.ceil(workers / shards.length);
  const dealt = Array.from({ length: rounds }, () => shards).flat();
  const seats = Math.max(workers, shards.length);
  return Array.from({ length: workers }, (_, worker) =>
    dealt.slice(0, seats).filter((_shard, seat) => seat % workers === worker),
  );
}

function shardsByBacklog(backlog: readonly PartitionBacklog[], shards: number): number[] {
  const dueIn = (shard: number): number =>
    backlog.reduce((sum, { partition, due }) => (partition.shard === shard ? sum + due : sum), 0);
  const counted = Array.from({ length: shards }, (_, shard) => ({ shard, due: dueIn(shard) }));
  return counted.sort((a, b) => b.due - a.due).map(({ shard }) => shard);
}
