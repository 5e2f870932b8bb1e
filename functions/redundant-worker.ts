/**
 * Checks with two reads whether a started worker is redundant, before it has written anything.
 *
 * A tick and a wake may start a worker each, and Lambda delivers starts twice; opening a session for each would cost two write units.
 * This check is advisory: the permit decides, and the worker requests it after opening its session.
 */
import { workersSemaphore } from '../shared/tasks/dispatch/dispatcher.ts';
import type { SessionTiming } from '../shared/core/lease/timing.ts';
import { permitsHeld } from '../shared/coordination/semaphore/semaphore.ts';
import { judgeSemaphore } from '../shared/coordination/semaphore/state.ts';
import type { TaskStores } from '../shared/client/task-stores.ts';
import type { Connected } from './runtime.ts';

interface SurplusQuery {
  readonly queue: string;
  readonly maxWorkers: number;
  readonly timing: SessionTiming;
}

/** Returns why the worker is not needed; undefined if it may be needed. */
export async function reasonToLeave(
  stores: Pick<Connected<TaskStores>, 'queues' | 'semaphores' | 'sessions' | 'runtime'>,
  { queue, maxWorkers, timing }: SurplusQuery,
): Promise<string | undefined> {
  const permits = await stores.semaphores.get(workersSemaphore(queue));
  // The limit is being changed. The acquire then reports how to proceed.
  if (permits?.declared === maxWorkers && permitsHeld(permits.holders) >= permits.limit) {
    // Expired holders are still in the row, but their capacity goes to the next worker that requests a permit.
    const { inUse, limit } = await judgeSemaphore(permits, timing, stores);
    return inUse >= limit ? `others are at work, and the limit is ${limit}` : undefined;
  }
  return (await stores.queues.glance(queue))?.isPaused === true ? 'the queue is paused' : undefined;
}
