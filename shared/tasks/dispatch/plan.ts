/**
 * Calculates the number of workers that a backlog needs, and their home shards: pure.
 *
 * The rule is Little's law. The last task that waits should begin within `startWithinMs`, so a task that takes a tenth of that time
 * needs a tenth of a slot; a task that takes longer needs a whole one. If the duration of tasks is unknown, each needs a whole slot.
 * So a plan never wants more than one worker for each `concurrency` tasks.
 */
import type { Slice } from '../task/slice.ts';
import type { Demand, PartitionBacklog, Unservable } from './demand.ts';

export interface PlanSettings {
  readonly shards: number;
  /** Hard cap of workers at one time. */
  readonly maxWorkers: number;
  /** Number of tasks that one worker runs at the same time. */
  readonly concurrency: number;
  /** Time within which the last due task should begin. */
  readonly startWithinMs: number;
}

/** The reason for the number of workers wanted. */
export type Why = 'tookUnknown' | 'took' | 'late' | 'cutShort' | 'maxWorkers' | Unservable;

export interface Wanted {
  /** At most `maxWorkers`. */
  readonly workers: number;
  /** How many more workers the plan would want without the limit of `maxWorkers`. */
  readonly missing: number;
  readonly why: Why;
}

/** The home shards of each worker to be started. */
type Plan = readonly (readonly number[])[];

/**
 * Returns how many workers are needed for the last due task to start within `startWithinMs`.
 *
 * Entries of running tasks count as due. That is correct, because their workers count too.
 * A late entry is either running or waiting; the live workers hold at most `atWork * concurrency` of them.
 * Late tasks are weighted ×4.
 * @param comeOneByOne whether tasks come one by one: then one more worker is needed if all slots are taken for long
 */
export function wantedWorkers(
  demand: Demand,
  atWork: number,
  settings: Omit<PlanSettings, 'shards'>,
  comeOneByOne = false,
): Wanted {
  const { due, late, tookMs, less, isCutShort = false } = demand;
  const { maxWorkers, concurrency } = settings;
  const share = shareOf(tookMs, settings);
  const held = Math.min(late, atWork * concurrency);
  const slots = held + (late - held) * Math.min(1, URGENCY * share) + (due - late) * share;
  const isFull = comeOneByOne && due > atWork * concurrency && tookMs !== undefined && share > LONG_SHARE;
  const needed = Math.max(isFull ? atWork + 1 : 0, Math.ceil(slots / concurrency - ROUNDING));
  const all = isCutShort ? Math.max(maxWorkers, needed) : needed;
  const byTook = late > held && share < 1 ? 'late' : tookMs === undefined ? 'tookUnknown' : 'took';
  return {
    workers: Math.min(maxWorkers, all),
    missing: Math.max(0, all - maxWorkers),
    why: all > maxWorkers ? 'maxWorkers' : isCutShort ? 'cutShort' : (less ?? byTook),
  };
}

/** A task that takes more of `startWithinMs` than this is not worth waiting for. Set by `bench fanout --scene "one a second"`. */
const LONG_SHARE = 0.5;
const URGENCY = 4;
/** Sums of shares are not exact: 80.00000000000001 slots must count as 80. */
const ROUNDING = 1e-6;

/** Returns the part of `startWithinMs` that a task holds a slot for: more than 0, at most 1. */
export function shareOf(tookMs: number | undefined, { startWithinMs }: Pick<PlanSettings, 'startWithinMs'>): number {
  if (tookMs === undefined) return 1;
  return Math.min(1, Math.max(tookMs, LEAST_TOOK_MS) / startWithinMs);
}

/** A claim and a settlement take at least this long, even for the shortest task. */
const LEAST_TOOK_MS = 10;

/**
 * Assigns the shards to the workers, fullest first, so that each worker starts with work, and in its own shard if there are enough shards.
 */
export function homesOf(backlog: readonly PartitionBacklog[], workers: number, shardCount: number): Plan {
  const shards = shardsByBacklog(backlog, shardCount);
  return Array.from({ length: workers }, (_, worker) =>
    shards.filter((_shard, seat) => seat % workers === worker % shards.length),
  );
}

/** If several workers start in the same shard, gives each of them a slice of it. Otherwise most of their claims would be refused. */
export function slicesOf(plan: Plan): readonly (Slice | undefined)[] {
  return plan.map(([shard], worker) => {
    const sharing = plan.flatMap(([home], other) => (home === shard ? [other] : []));
    return sharing.length > 1 ? { nth: sharing.indexOf(worker), of: sharing.length } : undefined;
  });
}

function shardsByBacklog(backlog: readonly PartitionBacklog[], shards: number): number[] {
  const dueIn = (shard: number): number =>
    backlog.reduce((sum, { partition, due }) => (partition.shard === shard ? sum + due : sum), 0);
  const counted = Array.from({ length: shards }, (_, shard) => ({ shard, due: dueIn(shard) }));
  return counted.sort((a, b) => b.due - a.due).map(({ shard }) => shard);
}
