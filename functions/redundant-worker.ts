/**
 * Checks with two reads whether a started worker is redundant, before it has written anything.
 *
 * A tick and a wake may start a worker each, and Lambda delivers starts twice; opening a session for each would cost two write units.
 * This check is advisory: the permit decides, and the worker requests it after opening its session.
 */
import type { SessionTiming } from '../shared/core/lease/timing.ts';
import { oldestHolders, readParts, wholeOf } from '../shared/coordination/semaphore/fleet.ts';
import type { SemaphoreRecord } from '../shared/coordination/semaphore/semaphore.ts';
import { permitsHeld } from '../shared/coordination/semaphore/semaphore.ts';
import { judgeSemaphore } from '../shared/coordination/semaphore/state.ts';
import type { TaskStores } from '../shared/client/task-stores.ts';
import type { Connected } from './runtime.ts';

interface SurplusQuery {
  readonly queue: string;
  readonly maxWorkers: number;
  readonly timing: SessionTiming;
}

/** Returns why the worker is not needed; absent if it may be needed. Also returns the permits that it has read. */
export async function reasonToLeave(
  stores: Pick<Connected<TaskStores>, 'queues' | 'semaphores' | 'sessions' | 'runtime'>,
  { queue, maxWorkers, timing }: SurplusQuery,
): Promise<{ readonly reason?: string; readonly parts: readonly SemaphoreRecord[] }> {
  const parts = await readParts({ queue, limit: maxWorkers }, stores.semaphores);
  const whole = wholeOf(parts);
  // If another limit is declared, the acquire reports how to proceed.
  if (whole?.declared === maxWorkers && whole.free <= 0) {
    // Expired holders are still in the rows, but their capacity goes to the next worker that requests a permit.
    const holders = oldestHolders(parts);
    const { inUse } = await judgeSemaphore({ ...whole, holders }, timing, stores);
    const isFull = whole.free + permitsHeld(holders) - inUse <= 0;
    return { parts, ...(isFull ? { reason: `others are at work, and the limit is ${whole.limit}` } : {}) };
  }
  const isPaused = (await stores.queues.glance(queue))?.isPaused === true;
  return { parts, ...(isPaused ? { reason: 'the queue is paused' } : {}) };
}
