/** All stores over one table, wired once. */
import type { LockStore } from '../lock/store.ts';
import type { RateLimitStore } from '../ratelimit/store.ts';
import type { CheckStore } from '../remote/check-store.ts';
import type { TaskOperatorStore } from '../task/operator-store.ts';
import type { WaitGroupStore } from '../waitgroup/store.ts';
import { createCheckStore } from './check/store.ts';
import type { Sender } from './engine/send.ts';
import { createLockStore } from './lock/store.ts';
import { createRateLimitStore } from './ratelimit/store.ts';
import { createTaskOperatorStore } from './task/operator-store.ts';
import type { TaskStoreOptions } from './task/store.ts';
import type { TaskStores } from './task-stores.ts';
import { createTaskStores } from './task-stores.ts';
import { createWaitGroupStore } from './waitgroup/store.ts';

export interface Stores extends TaskStores {
  readonly operations: TaskOperatorStore;
  readonly locks: LockStore;
  readonly groups: WaitGroupStore;
  readonly buckets: RateLimitStore;
  readonly checks: CheckStore;
}

export function createStores(sender: Sender, options: TaskStoreOptions): Stores {
  const { table } = options;
  return {
    ...createTaskStores(sender, options),
    operations: createTaskOperatorStore(sender, options),
    locks: createLockStore(sender, table),
    groups: createWaitGroupStore(sender, table),
    buckets: createRateLimitStore(sender, table),
    checks: createCheckStore(sender, table),
  };
}
