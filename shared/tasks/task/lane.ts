/**
 * Lanes: a queue's tasks of one priority that name a tenant, or those of it that name none.
 * Each shard has an index partition for each lane.
 *
 * Few queues use more than one, and a look at an empty partition costs as much as one at a short one.
 * So the queue's row says which lanes have ever been seen to be used: the dispatcher looks at all of them with each tick, and adds what it
 * finds. Deployed workers look at those of the row, and at all of them where tasks that ended there have made others due.
 * A worker without a dispatcher polls the others as well: seldom (`tasks/picker/poll-schedule.ts`), and before it exits.
 * A queue's first task in a new lane may so wait for the next tick, or for its lane's turn; nothing waits for ever.
 *
 * The row also says how many shards were ever in use: clients may have more than this deployment, or an earlier deployment had.
 * Tasks in shards that no worker knows of are found by ticks only (`tasks/dispatch/measure.ts`).
 */
import type { Priority } from './task.ts';
import { PRIORITIES } from './task.ts';

export interface Lane {
  readonly priority: Priority;
  readonly isOfTenants: boolean;
}

/** In order of service; those of one priority are served alike. */
export const LANES: readonly Lane[] = PRIORITIES.flatMap((priority) => [
  { priority, isOfTenants: false },
  { priority, isOfTenants: true },
]);

export function lanesOf(lanes: readonly Lane[], priority: Priority): readonly Lane[] {
  return lanes.filter((lane) => lane.priority === priority);
}

/** As the queue's row has it. */
export function laneName({ priority, isOfTenants }: Lane): string {
  return isOfTenants ? `${priority} tenants` : priority;
}
