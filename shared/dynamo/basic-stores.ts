/** The stores of everything that has to do with tasks, an isolate at the edge included: they lead to no package. */
import type { TaskAndPackStore } from '../bulk/store.ts';
import type { SemaphoreStore } from '../semaphore/store.ts';
import type { SessionStore } from '../session/store.ts';
import type { Sender } from './engine/send.ts';
import { createSemaphoreStore } from './semaphore/store.ts';
import { createSessionStore } from './session/store.ts';
import type { TaskStoreOptions } from './task/store.ts';
import { createTaskStore } from './task/store.ts';

export interface BasicStores {
  readonly tasks: TaskAndPackStore;
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
