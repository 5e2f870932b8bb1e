/**
 * Lists all ready and running tasks of a queue from its indexes, for operators.
 * It does not read the whole table.
 */
import type { ReadyEntry, ReadyPartition, TaskStore } from '../task/task-store.ts';
import type { Priority, ReadyTask, RunningTask } from '../task/task.ts';
import { PRIORITIES } from '../task/task.ts';
import { FIRST_PLACE } from '../task/tenants.ts';

export interface ListingQuery {
  readonly queue: string;
  /** Number of shards, as in the settings of the queue's workers. */
  readonly shards: number;
  readonly priorities?: readonly Priority[];
  /** Entries that are due later are left out. */
  readonly now: number;
}

type ListingStore = Pick<TaskStore, 'page' | 'pageOfTenants' | 'parking' | 'getMany'>;

const PAGE_LIMIT = 100;

/** Yields entries by pages: first those visible to workers, then parked ones. Slightly delayed. */
export async function* openEntries(tasks: ListingStore, query: ListingQuery): AsyncGenerator<readonly ReadyEntry[]> {
  yield* entriesInSight(tasks, query);
  yield* parkedEntries(tasks, query.queue, query.priorities ?? PRIORITIES);
}

/** One priority after the other, tasks without a tenant first, each partition in its order. */
export async function* entriesInSight(
  tasks: Pick<ListingStore, 'page' | 'pageOfTenants'>,
  { queue, shards, priorities = PRIORITIES, now }: ListingQuery,
): AsyncGenerator<readonly ReadyEntry[]> {
  for (const priority of priorities)
    for (let shard = 0; shard < shards; shard++) {
      const partition = { queue, priority, shard };
      let after: unknown;
      do {
        const { hints, next } = await tasks.page(partition, { now, limit: PAGE_LIMIT, after });
        if (hints.length > 0) yield hints;
        after = next;
      } while (after !== undefined);
      yield* entriesOfTenants(tasks, partition, now);
    }
}

/** A count of a queue's parked tasks, which may be incomplete. */
export interface ParkedCount {
  readonly count: number;
  /** Whether there are more tasks than were counted. */
  readonly isMore: boolean;
  /** Due time of the oldest counted task; undefined without parked tasks. */
  readonly oldestAt: number | undefined;
}

/** Counts parked tasks, which workers and other counts do not see. A hundred entries a page. */
export async function countParked(
  { parking }: Pick<TaskStore, 'parking'>,
  queue: string,
  pagesLimit: number,
): Promise<ParkedCount> {
  let [count, oldestAt, after]: [number, number, unknown] = [0, Infinity, undefined];
  for (let page = 0; page < pagesLimit && (page === 0 || after !== undefined); page++) {
    const { hints, next } = await parking.page(queue, after);
    count += hints.length;
    oldestAt = Math.min(oldestAt, ...hints.map(({ readyAt }) => readyAt));
    after = next;
  }
  return { count, isMore: after !== undefined, oldestAt: count === 0 ? undefined : oldestAt };
}

/** Tasks that wait for a slot of their key are all due. */
export async function* parkedEntries(
  { parking }: Pick<ListingStore, 'parking'>,
  queue: string,
  priorities: readonly Priority[] = PRIORITIES,
): AsyncGenerator<readonly ReadyEntry[]> {
  let after: unknown;
  do {
    const { hints, next } = await parking.page(queue, after);
    const wanted = hints.filter(({ priority }) => priorities.includes(priority));
    if (wanted.length > 0) yield wanted;
    after = next;
  } while (after !== undefined);
}

/** Yields the tasks behind the entries. Tasks that wait behind others of their line are not in an index, so they are not included. */
export async function* openTasks(
  tasks: ListingStore,
  query: ListingQuery,
  onDamaged?: (error: unknown) => void,
): AsyncGenerator<ReadyTask | RunningTask> {
  for await (const hints of openEntries(tasks, query))
    for (const task of await tasks.getMany(hints, onDamaged))
      if (task.state === 'ready' || task.state === 'running') yield task;
}

async function* entriesOfTenants(
  tasks: Pick<ListingStore, 'pageOfTenants'>,
  partition: ReadyPartition,
  now: number,
): AsyncGenerator<readonly ReadyEntry[]> {
  let after = FIRST_PLACE;
  for (;;) {
    const { entries, next } = await tasks.pageOfTenants(partition, { after, limit: PAGE_LIMIT });
    const hints = entries.map(({ hint }) => hint).filter(({ readyAt }) => readyAt <= now);
    if (hints.length > 0) yield hints;
    if (next === undefined) return;
    after = next;
  }
}
