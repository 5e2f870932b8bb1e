/** The stores of a queue over one table: what dispatchers and workers need, and no more, so that their bundles stay small. */
import type { TaskAndPackStore } from '../bulk/store.ts';
import type { SlotStore } from '../dispatch/store.ts';
import type { ScheduleStore } from '../schedule/store.ts';
import type { SemaphoreStore } from '../semaphore/store.ts';
import type { SessionStore } from '../session/store.ts';
import type { QueueStore } from '../task/queue-store.ts';
import type { Sender } from './engine/send.ts';
import { createQueueStore } from './queue/store.ts';
import { createScheduleStore } from './schedule/store.ts';
import { createSemaphoreStore } from './semaphore/store.ts';
import { createSessionStore } from './session/store.ts';
import { createSlotStore } from './slot/store.ts';
import { createTaskStore } from './task/store.ts';

export interface TaskStores {
  readonly tasks: TaskAndPackStore;
  readonly sessions: SessionStore;
  readonly semaphores: SemaphoreStore;
  readonly slots: SlotStore;
  readonly queues: QueueStore;
  readonly schedules: ScheduleStore;
}

export interface StoreOptions {
  readonly table: string;
  /** Partitions of the ready index for new tasks. */
  readonly shards: number;
}

export function createTaskStores(sender: Sender, options: StoreOptions): TaskStores {
  const { table } = options;
  return {
    tasks: createTaskStore(sender, options),
    sessions: createSessionStore(sender, table),
    semaphores: createSemaphoreStore(sender, table),
    slots: createSlotStore(sender, table),
    queues: createQueueStore(sender, table),
    schedules: createScheduleStore(sender, table),
  };
}
