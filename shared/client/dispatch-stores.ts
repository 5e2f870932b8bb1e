/** Only the stores that a dispatcher or a waker needs, so that their bundles stay small. */
import type { Sender } from '../dynamo/engine/send.ts';
import type { DeclaringStore } from '../coordination/semaphore/semaphore-store.ts';
import type { SessionStore } from '../session/session-store.ts';
import type { TickStore } from '../tasks/dispatch/tick-store.ts';
import type { ScheduleStore } from '../tasks/schedule/schedule.ts';
import { ListedQueues } from '../tasks/task/listed-queues.ts';
import type { QueueStore } from '../tasks/task/queue-store.ts';
import { createDeclaringStore } from '../coordination/semaphore/row/declaring-store.ts';
import { createSessionReader } from '../session/row/dynamo-session-store.ts';
import { createQueueStore } from '../tasks/rows/dynamo-queue-store.ts';
import { createScheduleStore } from '../tasks/rows/dynamo-schedule-store.ts';
import { createTickStore } from '../tasks/rows/dynamo-tick-store.ts';
import type { TaskStoreOptions } from '../tasks/rows/task/adding-store.ts';
import type { TaskReader } from '../tasks/rows/task/task-reader.ts';
import { createTaskReader } from '../tasks/rows/task/task-reader.ts';

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
