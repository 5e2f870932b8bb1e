/**
 * Finds the item that killed a worker.
 *
 * Items run one after the other, but several of them may have ended without a record when their worker crashed.
 * So a pack taken over from a crashed worker runs carefully: the end of each item is recorded before the next one begins.
 * If its worker crashes again, the first open item was running. That item is moved out with its attempts,
 * and continues as a separate task, which dies alone if it must; the rest of the pack continues without it, and without that attempt.
 *
 * A task with `maxAttempts: 1` is careful from the beginning, and its first death is its last.
 */
import type { RetryPolicy } from '../task/definition.ts';
import type { PastAttempt, RunningTask } from '../task/task.ts';
import { WORKER_DIED } from '../task/task.ts';
import type { PackOf } from '../task/pack.ts';
import { openItems } from '../task/pack.ts';
import { taskOfItem } from './departure.ts';
import type { MovedItem } from './pack-store.ts';

/** Whether the end of each item must be recorded before the next one begins. */
export function isCareful(pack: RunningTask, { maxAttempts }: Pick<RetryPolicy, 'maxAttempts'>): boolean {
  return maxAttempts === 1 || deathsBefore(pack).length > 0;
}

/**
 * Returns the item that the last holder was running when it crashed, if known. Its `deaths` are the latest consecutive deaths of its pack.
 */
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
 * Returns the attempts directly before this one that ended with a crash of their worker and still count.
 * If an operator retries a pack, its count restarts but its past remains. Each suspect took one attempt along when it left.
 */
function deathsBefore({ past, attempts }: RunningTask): readonly PastAttempt[] {
  const inARow = past.slice(past.findLastIndex(({ how }) => how !== 'died') + 1);
  return attempts > 1 ? inARow.slice(1 - attempts) : [];
}
