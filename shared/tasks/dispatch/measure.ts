/**
 * Measures the backlog for a tick: the number of due entries in each partition of the ready index, counted up to a bound.
 *
 * Shards are numbered from zero, and the enqueuing client sets their number.
 * A client may use more shards than the queue's workers, and a
 * deployment may lower the number while tasks wait in the last shards.
 * So the queue's row stores the largest number ever used, and each tick
 * also reads two more shards: the next one, which soon has a task if clients use more,
 * and one of all possible shards, a different one each minute.
 */
import { allOf } from '../../core/runtime/all-of.ts';
import { inFlight } from '../../core/runtime/in-flight.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { limitText } from '../task/key-limit.ts';
import type { Lane } from '../task/lane.ts';
import { LANES, laneName } from '../task/lane.ts';
import { FirstTickets } from '../task/line.ts';
import type { GroupHint, ReadyEntry, ReadyPartition, TaskStore } from '../task/task-store.ts';
import { MAX_SHARDS } from '../task/task.ts';
import { GroupWalk } from '../task/group-walk.ts';

export interface PartitionPage {
  readonly partition: ReadyPartition;
  readonly hints: readonly (ReadyEntry & Partial<Pick<GroupHint, 'limit' | 'line'>>)[];
  /** The name of its lane, if it has any entry, due or not. */
  readonly lane: string | undefined;
}

interface BacklogQuery {
  readonly queue: string;
  /** Shards that are known to be in use. */
  readonly known: number;
  /** Maximum entries to count in each partition of these shards. In the other shards, one entry is enough. */
  readonly limit: number;
}

interface BacklogPorts {
  readonly tasks: Pick<TaskStore, 'page' | 'pageOfGroups'>;
  readonly clock: Clock;
  /** Whether an operator has paused a tenant: none of its tasks is counted. */
  readonly isPaused: (tenant: string | undefined) => boolean;
  /** Called for each foreign entry, which is not counted. */
  readonly onDamaged: (error: unknown) => void;
}

interface Partition {
  readonly lane: Lane;
  readonly partition: ReadyPartition;
  readonly limit: number;
  /** Notes the lines that it shows. */
  readonly firsts: FirstTickets;
}

/** Hundreds of concurrent polls need as many connections, and a 256 MB Lambda is too slow for their handshakes: the tick would time out. */
const CONCURRENT_POLLS = 16;

export async function readPartitions(
  ports: BacklogPorts,
  { queue, known, limit }: BacklogQuery,
): Promise<PartitionPage[]> {
  const shards = [
    ...Array.from({ length: known }, (_, shard) => ({ shard, limit })),
    ...shardsBeyond(known, ports.clock.now()).map((shard) => ({ shard, limit: 1 })),
  ];
  const someAtATime = inFlight(CONCURRENT_POLLS);
  const firsts = new FirstTickets();
  const pages = await allOf(
    LANES.flatMap((lane) =>
      shards.map(({ shard, limit }) =>
        someAtATime(() =>
          readPartition({ lane, partition: { queue, priority: lane.priority, shard }, limit, firsts }, ports),
        ),
      ),
    ),
  );
  return withinLimits(pages, firsts);
}

/** Returns how many shards are in use, given the entries found. */
export function shardsOf(pages: readonly PartitionPage[], known: number): number {
  return Math.max(known, ...pages.filter(({ lane }) => lane !== undefined).map(({ partition }) => partition.shard + 1));
}

async function readPartition(
  { lane, partition, limit, firsts }: Partition,
  { tasks, clock, isPaused, onDamaged }: BacklogPorts,
): Promise<PartitionPage> {
  const now = clock.now();
  if (lane.isOfGroups) {
    const { hints, isEmpty } = await new GroupWalk(partition, tasks).next({
      now,
      wanted: limit,
      quantum: limit,
      isPaused,
      visit: (group) => {
        for (const { hint } of group) firsts.see(hint.line);
        const [first] = group;
        return { left: first?.hint.line === undefined ? (first?.hint.limit?.limit ?? Infinity) : 1 };
      },
      onDamaged,
    });
    return { partition, hints, lane: isEmpty ? undefined : laneName(lane) };
  }
  let page = await tasks.page(partition, { now, limit, onDamaged });
  // Foreign entries at the head must not hide the entries behind them.
  for (let more = 0; more < PAGES_LIMIT && page.hints.length === 0 && page.next !== undefined; more++)
    page = await tasks.page(partition, { now, limit: FOREIGN_PAGE, after: page.next, onDamaged });
  const { hints } = page;
  return { partition, hints, lane: hints.length === 0 ? undefined : laneName(lane) };
}

/**
 * Counts as many tasks of a key as its limit, over all partitions: any of its shards may have all of them. They are the first ones of
 * each partition, so they include the running ones: each of these has a worker, or needs one that takes it over.
 * Counts one task of a line, if the first one of all partitions is due.
 */
function withinLimits(pages: readonly PartitionPage[], firsts: FirstTickets): PartitionPage[] {
  const counted = new Map<string, number>();
  const isWithin = ({ limit, line }: Partial<Pick<GroupHint, 'limit' | 'line'>>): boolean => {
    if (limit === undefined) return firsts.has(line);
    const name = `${limitText(limit)} ${limit.key}`;
    const before = counted.get(name) ?? 0;
    counted.set(name, before + 1);
    return before < limit.limit;
  };
  return pages.map((page) => ({ ...page, hints: page.hints.filter(isWithin) }));
}

/** How many more pages to read after a page without an entry of the queue, and the entries per page. */
const [PAGES_LIMIT, FOREIGN_PAGE] = [40, 50];

const MINUTE_MS = 60_000;
/** A prime above `MAX_SHARDS`, so that ticks reach each shard whatever the number of minutes between them. */
const ROUND = 257;

/** Returns the next shard, and the shard of the current minute. */
function shardsBeyond(known: number, now: number): readonly number[] {
  const inTurn = Math.floor(now / MINUTE_MS) % ROUND;
  return [...new Set([known, inTurn])].filter((shard) => known <= shard && shard < MAX_SHARDS);
}
