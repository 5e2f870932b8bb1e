/** The limits of a candidate: attempts, deaths, time. */
import type { Found } from '../picker/candidate.ts';
import type { AnyTask, RetryPolicy } from '../task/definition.ts';
import { isAtMostOnce, retryOf, timeoutMsOf } from '../task/definition.ts';
import type { RunningTask } from '../task/task.ts';

/** A task that has failed for this long is unlikely to recover by itself. An operator should check it long before its last attempt. */
const FAILING_LONG_MS = 10 * 60_000;

/** Whether its last holder crashed and this attempt is its last: see `solo-gate.ts`. */
export function isLastAttempt({ kind, task }: Found, definition: AnyTask | undefined): boolean {
  const hasDied = kind === 'abandoned' || task.past.at(-1)?.how === 'died';
  if (!hasDied || definition === undefined) return false;
  const { maxAttempts, maxDeaths } = retryOf(definition, task);
  const deaths = kind === 'abandoned' ? task.deaths + 1 : task.deaths;
  return task.attempts + 1 === maxAttempts || deaths + 1 === maxDeaths;
}

/** Whether a task is out of attempts, given that its holder's session was just found expired. */
export function isExhausted({ attempts, deaths }: RunningTask, { maxAttempts, maxDeaths }: RetryPolicy): boolean {
  return attempts >= maxAttempts || deaths + 1 >= maxDeaths;
}

/** Whether it expired before a worker started it. */
export function isOverdue({ kind, task }: Found, now: number): boolean {
  return kind === 'ready' && task.expiresAt !== undefined && task.expiresAt <= now;
}

/** A task with a timeout longer than this part of a worker's life begins at its worker's beginning, or nowhere. */
const MOST_OF_LIFE = 0.9;

/**
 * Whether a worker has too little of its life left for a task whose code may begin once: a hand-back would be its death.
 * It needs its timeout, or without one half of the worker's life.
 */
export function isTooLate(
  { kind, task }: Found,
  definition: AnyTask,
  { lifeMs, remainingMs }: { readonly lifeMs: number; readonly remainingMs: number },
): boolean {
  if (kind !== 'ready' || !isAtMostOnce(definition, task)) return false;
  return remainingMs < Math.min(timeoutMsOf(definition, task) ?? lifeMs / 2, lifeMs * MOST_OF_LIFE);
}

/** Whether all its attempts have failed for that long. */
export function hasFailedLong({ failingSince = Infinity }: RunningTask, now: number): boolean {
  return now - failingSince >= FAILING_LONG_MS;
}
