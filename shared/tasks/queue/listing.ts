/**
 * Lists all ready and running tasks of a queue from its indexes, for operators.
 * It does not read the whole table.
 */
import { pagesOf } from '../../core/runtime/take.ts';
import type { GroupHint, ReadyEntry, ReadyPartition, TaskStore } from '../task/task-store.ts';
import type { Priority, ReadyTask, RunningTask } from '../task/task.ts';
import { PRIORITIES } from '../task/task.ts';
import { FIRST_PLACE } from '../task/group-walk.ts';

export interface ListingQuery {
  readonly queue: string;
  /** Number of shards, as in the settings of the queue's workers. */
  readonly shards: number;
  readonly priorities?: readonly Priority[];
  /** Entries that are due later are left out. */
  readonly now: number;
}

/** With its tenant and its place in its line, if any. */
export type ListedEntry = ReadyEntry & Partial<Pick<GroupHint, 'line' | 'tenant'>>;

type ListingStore = Pick<TaskStore, 'page' | 'pageOfGroups' | 'getMany'>;

const PAGE_LIMIT = 100;

/** Yields entries by pages: one priority after the other, tasks without a group first, each partition in its order. Slightly delayed. */
export async function* openEntries(
  tasks: Pick<ListingStore, 'page' | 'pageOfGroups'>,
  { queue, shards, priorities = PRIORITIES, now }: ListingQuery,
): AsyncGenerator<readonly ListedEntry[]> {
  for (const priority of priorities)
    for (let shard = 0; shard < shards; shard++) {
      const partition = { queue, priority, shard };
      const pages = pagesOf((after) => tasks.page(partition, { now, limit: PAGE_LIMIT, after }));
      for await (const { hints } of pages) if (hints.length > 0) yield hints;
      yield* entriesOfGroups(tasks, partition, now);
    }
}

/** Yields the tasks behind the entries, and the tasks that wait behind others of their line. */
export async function* openTasks(
  tasks: ListingStore,
  query: ListingQuery,
  onDamaged?: (error: unknown) => void,
): AsyncGenerator<ReadyTask | RunningTask> {
  for await (const hints of openEntries(tasks, query))
    for (const task of await tasks.getMany(hints, onDamaged))
      if (task.state === 'ready' || task.state === 'running') yield task;
}

async function* entriesOfGroups(
  tasks: Pick<ListingStore, 'pageOfGroups'>,
  partition: ReadyPartition,
  now: number,
): AsyncGenerator<readonly ListedEntry[]> {
  let after = FIRST_PLACE;
  for (;;) {
    const { entries, next } = await tasks.pageOfGroups(partition, { after, limit: PAGE_LIMIT });
    const hints = entries.map(({ hint }) => hint).filter(({ readyAt }) => readyAt <= now);
    if (hints.length > 0) yield hints;
    if (next === undefined) return;
    after = next;
  }
}
