/** Task stores that also work in an isolate at the edge, because they do not import any package. */
import type { TaskStore } from '../tasks/task/task-store.ts';
import type { SemaphoreStore } from '../coordination/semaphore/semaphore-store.ts';
import type { SessionStore } from '../session/session-store.ts';
import type { Sender } from '../dynamo/engine/send.ts';
import { createSemaphoreStore } from '../coordination/semaphore/row/dynamo-semaphore-store.ts';
import { createSessionStore } from '../session/row/dynamo-session-store.ts';
import type { TaskStoreOptions } from '../tasks/rows/task/adding-store.ts';
import { createTaskStore } from '../tasks/rows/task/dynamo-task-store.ts';

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
