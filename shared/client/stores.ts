/** Stores over one table, wired once. */
import type { LockStore } from '../coordination/lock/lock-store.ts';
import type { RateLimitStore } from '../coordination/ratelimit/ratelimit-store.ts';
import type { TaskOperatorStore } from '../tasks/task/task-operator-store.ts';
import type { ScheduleStore } from '../tasks/schedule/schedule.ts';
import type { WaitGroupStore } from '../coordination/waitgroup/waitgroup-store.ts';
import type { Sender } from '../dynamo/engine/send.ts';
import { createLockStore } from '../coordination/lock/row/dynamo-lock-store.ts';
import { createRateLimitStore } from '../coordination/ratelimit/row/dynamo-ratelimit-store.ts';
import { createTaskOperatorStore } from '../tasks/rows/task/dynamo-task-operator-store.ts';
import { createScheduleStore } from '../tasks/rows/dynamo-schedule-store.ts';
import type { TaskStoreOptions } from '../tasks/rows/task/adding-store.ts';
import { createWaitGroupStore } from '../coordination/waitgroup/row/dynamo-waitgroup-store.ts';
import type { TaskStore } from '../tasks/task/task-store.ts';
import type { SemaphoreStore, DeclaringStore } from '../coordination/semaphore/semaphore-store.ts';
import type { SessionStore } from '../session/session-store.ts';
import { createSemaphoreStore } from '../coordination/semaphore/row/dynamo-semaphore-store.ts';
import { createSessionStore, createSessionReader } from '../session/row/dynamo-session-store.ts';
import { createTaskStore } from '../tasks/rows/task/dynamo-task-store.ts';
import type { TickStore } from '../tasks/dispatch/tick-store.ts';
import type { QueueStore } from '../tasks/task/queue-store.ts';
import { ListedQueues } from '../tasks/task/listed-queues.ts';
import { createQueueStore } from '../tasks/rows/dynamo-queue-store.ts';
import { createTickStore } from '../tasks/rows/dynamo-tick-store.ts';
import { createDeclaringStore } from '../coordination/semaphore/row/declaring-store.ts';
import type { TaskReader } from '../tasks/rows/task/task-reader.ts';
import { createTaskReader } from '../tasks/rows/task/task-reader.ts';

/** Task stores that also work in an isolate at the edge, because they do not import any package. */
export interface BasicStores {
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
  readonly semaphores: SemaphoreStore;
}

export function createBasicStores(sender: Sender, options: TaskStoreOptions): BasicStores {
  const { table } = options;
  return {
    tasks: createTaskStore(sender, options),
    sessions: createSessionStore(sender, table),
    semaphores: createSemaphoreStore(sender, table),
  };
}

/** Only the stores of a queue that dispatchers and workers need, so that their bundles stay small. */
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

/** Used by every client. */
export interface ClientStores extends TaskStores {
  readonly operations: TaskOperatorStore;
  readonly locks: LockStore;
  readonly groups: WaitGroupStore;
  readonly buckets: RateLimitStore;
}

export function createClientStores(sender: Sender, options: TaskStoreOptions): ClientStores {
  const { table } = options;
  return {
    ...createTaskStores(sender, options),
    operations: createTaskOperatorStore(sender, options),
    locks: createLockStore(sender, table),
    groups: createWaitGroupStore(sender, table),
    buckets: createRateLimitStore(sender, table),
  };
}

/** All stores. */
export interface Stores extends ClientStores {
  readonly schedules: ScheduleStore;
}

export function createStores(sender: Sender, options: TaskStoreOptions): Stores {
  return { ...createClientStores(sender, options), schedules: createScheduleStore(sender, options) };
}

/** Only the stores that a dispatcher or a waker needs, so that their bundles stay small. */
export interface WakerStores {
  readonly tasks: TaskReader;
  readonly sessions: Pick<SessionStore, 'getMany'>;
  readonly semaphores: DeclaringStore;
  readonly queues: QueueStore;
}

interface DispatchStores extends WakerStores {
  readonly ticks: TickStore;
  readonly schedules: ScheduleStore;
}

export function createWakerStores(sender: Sender, { table, listed }: TaskStoreOptions): WakerStores {
  return {
    tasks: createTaskReader(sender, table),
    sessions: createSessionReader(sender, table),
    semaphores: createDeclaringStore(sender, table),
    queues: createQueueStore(sender, table, listed),
  };
}

export function createDispatchStores(sender: Sender, options: TaskStoreOptions): DispatchStores {
  const listed = new ListedQueues();
  return {
    ...createWakerStores(sender, { ...options, listed }),
    ticks: createTickStore(sender, options.table),
    schedules: createScheduleStore(sender, { ...options, listed }),
  };
}
