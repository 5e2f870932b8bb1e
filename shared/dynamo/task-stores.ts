/** The stores of a queue over one table: what dispatchers and workers need, and no more, so that their bundles stay small. */
import type { SlotStore } from '../dispatch/store.ts';
import type { ScheduleStore } from '../schedule/store.ts';
import type { QueueStore } from '../task/queue-store.ts';
import type { BasicStores } from './basic-stores.ts';
import { createBasicStores } from './basic-stores.ts';
import type { Sender } from './engine/send.ts';
import { createQueueStore } from './queue/store.ts';
import { createScheduleStore } from './schedule/store.ts';
import { createSlotStore } from './slot/store.ts';
import type { TaskStoreOptions } from './task/store.ts';

export interface TaskStores extends BasicStores {
  readonly slots: SlotStore;
  readonly queues: QueueStore;
  readonly schedules: ScheduleStore;
}

export function createTaskStores(sender: Sender, options: TaskStoreOptions): TaskStores {
  const { table } = options;
  return {
    ...createBasicStores(sender, options),
    slots: createSlotStore(sender, table),
    queues: createQueueStore(sender, table),
    schedules: createScheduleStore(sender, table),
  };
}
