/** Only the stores of a queue that dispatchers and workers need, so that their bundles stay small. */
import type { TickStore } from '../tasks/dispatch/tick-store.ts';
import type { QueueStore } from '../tasks/task/queue-store.ts';
import { ListedQueues } from '../tasks/task/listed-queues.ts';
import type { BasicStores } from './basic-stores.ts';
import { createBasicStores } from './basic-stores.ts';
import type { Sender } from '../dynamo/engine/send.ts';
import { createQueueStore } from '../tasks/rows/dynamo-queue-store.ts';
import { createTickStore } from '../tasks/rows/dynamo-tick-store.ts';
import type { TaskStoreOptions } from '../tasks/rows/task/adding-store.ts';

export interface TaskStores extends BasicStores {
  readonly ticks: TickStore;
  readonly queues: QueueStore;
}

export function createTaskStores(sender: Sender, options: TaskStoreOptions): TaskStores {
  const { table } = options;
  const listed = new ListedQueues();
  return {
    ...createBasicStores(sender, { ...options, listed }),
    ticks: createTickStore(sender, table),
    queues: createQueueStore(sender, table, listed),
  };
}
