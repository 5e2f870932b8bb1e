/** Sources of a queue's unfinished tasks: by priority and shard in the ready index; tasks with a tenant in their own index. */
import type { ListedEntry } from '../../../shared/tasks/queue/listing.ts';
import type { TaskStore } from '../../../shared/tasks/task/task-store.ts';
import type { Priority } from '../../../shared/tasks/task/task.ts';
import { PRIORITIES } from '../../../shared/tasks/task/task.ts';

/** A part of an index that is read from its beginning. Each page costs at least half a read unit, even if empty. */
export interface Source {
  readonly priority: Priority;
  /** Its tasks are in groups: they are ordered by tenant and key first, and only then by the time they are due. */
  readonly isOfGroups: boolean;
  /** @param after where the page before ended; undefined: from the beginning. `next` undefined: that is all. */
  read(
    tasks: TaskStore,
    after: unknown,
    limit: number,
  ): Promise<{ readonly hints: readonly ListedEntry[]; readonly next: unknown }>;
}

/** Later than any task is due. */
const END_OF_TIME = Number.MAX_SAFE_INTEGER;
/** Places begin with hexadecimal digits, several of them. */
const BEFORE_ALL_PLACES = '0';

/** From high priority to low, groups last. */
export function sourcesOf(queue: string, shards: number): readonly Source[] {
  const partitions = PRIORITIES.flatMap((priority) =>
    Array.from({ length: shards }, (_, shard) => ({ queue, priority, shard })),
  );
  return [
    ...partitions.map((partition): Source => ({
      priority: partition.priority,
      isOfGroups: false,
      read: (tasks, after, limit) => tasks.page(partition, { now: END_OF_TIME, limit, after }),
    })),
    ...partitions.map((partition): Source => ({
      priority: partition.priority,
      isOfGroups: true,
      async read(tasks, after, limit) {
        const place = typeof after === 'string' ? after : BEFORE_ALL_PLACES;
        const { entries, next } = await tasks.pageOfGroups(partition, { after: place, limit });
        return { hints: entries.map(({ hint }) => hint), next };
      },
    })),
  ];
}
