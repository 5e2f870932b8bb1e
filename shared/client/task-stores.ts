/** Only the stores of a queue that dispatchers and workers need, so that their bundles stay small. */
import type { SlotStore } from '../tasks/dispatch/slot-store.ts';
import type { QueueStore } from '../tasks/task/queue-store.ts';
import { ListedQueues } from '../tasks/task/listed-queues.ts';
import type { BasicStores } from './basic-stores.ts';
import { createBasicStores } from './basic-stores.ts';
import type { Sender } from '../dynamo/engine/send.ts';
import { createQueueStore } from '../tasks/rows/dynamo-queue-store.ts';
import { createSlotStore } from '../tasks/rows/dynamo-slot-store.ts';
import type { TaskStoreOptions } from '../tasks/rows/task/adding-store.ts';

export interface TaskStores extends BasicStores {
  readonly slots: SlotStore;
  readonly queues: QueueStore;
}

export function createTaskStores(sender: Sender, options: TaskStoreOptions): TaskStores {
  const { table } = options;
  const listed = new ListedQueues();
  return {
    ...createBasicStores(sender, { ...options, listed }),
    slots: createSlotStore(sender, table),
    queues: createQueueStore(sender, table, listed),
  };
}
