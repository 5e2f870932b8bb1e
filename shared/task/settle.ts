/** Pure decisions about how an attempt ends. */
import { messageOf } from '../errors.ts';
import { fullJitterMs } from '../runtime/random.ts';
import type { Random } from '../runtime/random.ts';
import { DoNotRetry, InvalidInputError, RetryAfter } from './control.ts';
import type { RetryPolicy } from './definition.ts';
import type { TaskError } from './task.ts';
import { ERROR_MESSAGE_LIMIT_CHARACTERS } from './task.ts';

/**
 * How a claim ended here.
 * `unsettled`: the store could not be reached until belief ended; the session's end or expiry frees the task.
 */
export type Settlement = 'done' | 'retried' | 'dead' | 'released' | 'snoozed' | 'cancelled' | 'lost' | 'unsettled';

export type Failure =
  | { readonly kind: 'retry'; readonly error: TaskError; readonly delayMs: number }
  | { readonly kind: 'dead'; readonly error: TaskError };

/**
 * What becomes of an attempt that threw.
 * @param attempts claims so far, this one included
 */
export function judgeFailure(
  thrown: unknown,
  attempts: number,
  policy: RetryPolicy,
  at: { readonly now: number; readonly random: Random },
): Failure {
  const error = describeError(thrown, at.now);
  const isFinal = thrown instanceof DoNotRetry || thrown instanceof InvalidInputError || attempts >= policy.maxAttempts;
  if (isFinal) return { kind: 'dead', error };
  const isDelayed = thrown instanceof RetryAfter && Number.isFinite(thrown.delayMs) && thrown.delayMs >= 0;
  return {
    kind: 'retry',
    error,
    delayMs: isDelayed ? thrown.delayMs : fullJitterMs(at.random, policy.backoff, attempts),
  };
}

/** The recorded form of anything thrown: short, and well-formed whatever it was. */
function describeError(thrown: unknown, now: number): TaskError {
  const name = thrown instanceof Error && typeof thrown.name === 'string' ? thrown.name : 'Error';
  return { name: short(name, 100), message: short(messageOf(thrown), ERROR_MESSAGE_LIMIT_CHARACTERS), at: now };
}

function short(text: string, limit: number): string {
  return (text.length > limit ? `${text.slice(0, limit)}…` : text).toWellFormed();
}
