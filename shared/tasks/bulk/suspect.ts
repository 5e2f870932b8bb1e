/**
 * Which item killed a worker.
 *
 * Items run one after the other, but several of them may have ended without having been recorded when their worker died.
 * So a pack that was taken over from a dead worker is worked on carefully: the end of each item is recorded before the next one begins.
 * If its worker dies again, it was the first open item that ran. That one is moved out, with the attempts that it has had,
 * and goes on as a task of its own, which ends alone if it must; the rest of the pack goes on without it, and without that attempt.
 *
 * A task that may be attempted only once is careful from the beginning, and its first death is its last.
 */
import type { RetryPolicy } from '../task/definition.ts';
import type { PastAttempt, RunningTask } from '../task/task.ts';
import { WORKER_DIED } from '../task/task.ts';
import type { PackOf } from '../task/pack.ts';
import { openItems } from '../task/pack.ts';
import { taskOfItem } from './departure.ts';
import type { MovedItem } from './pack-store.ts';

/** Whether the end of each item is to be recorded before the next one begins. */
export function isCareful(pack: RunningTask, { maxAttempts }: Pick<RetryPolicy, 'maxAttempts'>): boolean {
  return maxAttempts === 1 || deathsBefore(pack).length > 0;
}

/** The item that the last holder was running when it died, if that is known; its `deaths` are in a row, the last ones of its pack. */
export function suspectOf(
  pack: PackOf<RunningTask>,
  { maxAttempts, maxDeaths }: Pick<RetryPolicy, 'maxAttempts' | 'maxDeaths'>,
  now: number,
): MovedItem | undefined {
  const deaths = deathsBefore(pack);
  const last = deaths.at(-1);
  const [index] = openItems(pack);
  const wasCareful = maxAttempts === 1 || deaths.length > 1;
  if (last === undefined || index === undefined || !wasCareful) return undefined;
  const attempts = pack.attempts - 1;
  const message = `its worker died while it ran, or just before, in session ${last.session}`;
  return {
    index,
    task: taskOfItem(pack, index, now),
    isDead: attempts >= maxAttempts || deaths.length >= maxDeaths,
    attempts,
    deaths: deaths.length,
    error: { name: WORKER_DIED, message, at: now },
    lastAttempt: last,
    isSuspect: true,
  };
}

/**
 * The attempts right before this one that ended with the death of their worker and still count.
 * A pack that was redriven begins its count anew and keeps its past; and each suspect took an attempt along when it left.
 */
function deathsBefore({ past, attempts }: RunningTask): readonly PastAttempt[] {
  const inARow = past.slice(past.findLastIndex(({ how }) => how !== 'died') + 1);
  return attempts > 1 ? inARow.slice(1 - attempts) : [];
}
