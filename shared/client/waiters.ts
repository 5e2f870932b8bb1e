/** The lines in which the callers of one process wait. */
import type { Refusal } from '../coordination/lock/lock-record.ts';
import type { Limited } from '../coordination/ratelimit/rate-limiter.ts';
import type { Full } from '../coordination/semaphore/semaphore-contender.ts';
import type { Clock } from '../core/runtime/clock.ts';
import { WaiterQueue } from '../core/wait/waiter-queue.ts';

export interface Waiters {
  readonly locks: WaiterQueue<Refusal>;
  /** Separate from callers that wait for locks: a lock may have the same name. */
  readonly semaphores: WaiterQueue<Full>;
  /** Callers that wait for tokens of rate limits. */
  readonly tokens: WaiterQueue<Limited>;
}

export function newWaiters(clock: Clock): Waiters {
  return { locks: new WaiterQueue(clock), semaphores: new WaiterQueue(clock), tokens: new WaiterQueue(clock) };
}
