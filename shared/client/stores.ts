/** Stores over one table, wired once. */
import type { LockStore } from '../coordination/lock/lock-store.ts';
import type { RateLimitStore } from '../coordination/ratelimit/ratelimit-store.ts';
import type { AnsweringStore } from '../tasks/durable/journal-store.ts';
import { createArrivalStore } from '../tasks/rows/task/arrival-store.ts';
import type { TaskOperatorStore } from '../tasks/task/task-operator-store.ts';
import type { ScheduleStore } from '../tasks/schedule/schedule.ts';
import type { WaitGroupStore } from '../coordination/waitgroup/waitgroup-store.ts';
import type { Sender } from '../dynamo/engine/send.ts';
import { createLockStore } from '../coordination/lock/row/dynamo-lock-store.ts';
import { createRateLimitStore } from '../coordination/ratelimit/row/dynamo-ratelimit-store.ts';
import { createTaskOperatorStore } from '../tasks/rows/task/dynamo-task-operator-store.ts';
import { createScheduleStore } from '../tasks/rows/dynamo-schedule-store.ts';
import type { TaskStoreOptions } from '../tasks/rows/task/adding-store.ts';
import type { TaskStores } from './task-stores.ts';
import { createTaskStores } from './task-stores.ts';
import { createWaitGroupStore } from '../coordination/waitgroup/row/dynamo-waitgroup-store.ts';

/** Used by every client. */
export interface ClientStores extends TaskStores {
  readonly tasks: AnsweringStore;
  readonly operations: TaskOperatorStore;
  readonly locks: LockStore;
  readonly groups: WaitGroupStore;
  readonly buckets: RateLimitStore;
}

/** All stores. */
export interface Stores extends ClientStores {
  readonly schedules: ScheduleStore;
}

export function createStores(sender: Sender, options: TaskStoreOptions): Stores {
  return { ...createClientStores(sender, options), schedules: createScheduleStore(sender, options) };
}

export function createClientStores(sender: Sender, options: TaskStoreOptions): ClientStores {
  const { table } = options;
  const stores = createTaskStores(sender, options);
  return {
    ...stores,
    tasks: Object.assign(stores.tasks, createArrivalStore(sender, options)),
    operations: createTaskOperatorStore(sender, options),
    locks: createLockStore(sender, table),
    groups: createWaitGroupStore(sender, table),
    buckets: createRateLimitStore(sender, table),
  };
}
