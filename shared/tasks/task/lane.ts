/**
 * Lanes: for each priority, a queue's tasks with a tenant are one lane, and its tasks without one are another.
 * Each shard has an index partition for each lane.
 *
 * Most queues use one lane, and polling an empty partition costs as much as polling a short one.
 * So the queue's row lists every lane that was ever used. The dispatcher polls all lanes at each tick and adds newly used ones.
 * Deployed workers poll the listed lanes, and all lanes after tasks that ended in the worker have made others due.
 * A worker without a dispatcher polls the other lanes as well: rarely (`tasks/picker/partitions.ts`), and before it exits.
 * So a queue's first task in a new lane may wait for the next tick, or for a poll of its lane, but never forever.
 *
 * The row also stores how many shards were ever in use, because clients or an earlier deployment may have more than this deployment.
 * Only ticks find tasks in shards that no worker knows (`tasks/dispatch/measure.ts`).
 */
import type { Priority } from './task.ts';
import { PRIORITIES } from './task.ts';

export interface Lane {
  readonly priority: Priority;
  readonly isOfGroups: boolean;
}

/** In order of service. Lanes of the same priority are treated alike. */
export const LANES: readonly Lane[] = PRIORITIES.flatMap((priority) => [
  { priority, isOfGroups: false },
  { priority, isOfGroups: true },
]);

/** The lane's name in the queue's row. */
export function laneName({ priority, isOfGroups }: Lane): string {
  return isOfGroups ? `${priority} groups` : priority;
}
