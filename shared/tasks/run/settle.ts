/** Pure decisions at the end of an attempt. */
import { StoreUnavailableError } from '../../core/errors.ts';
import { fullJitterMs } from '../../core/runtime/random.ts';
import type { Random } from '../../core/runtime/random.ts';
import { DoNotRetry, RetryAfter, UnfitInputError } from '../task/control.ts';
import type { RetryPolicy } from '../task/definition.ts';
import type { Claim, RunningTask, TaskError, TaskRecord } from '../task/task.ts';
import { ERROR_MESSAGE_LIMIT_CHARACTERS } from '../task/task.ts';
import { describeThrown, shortText } from './thrown.ts';

/**
 * The end of a claim in this worker.
 * `suspended`: a durable task waits. `unsettled`: the worker had to stop before the outcome was known. The end or expiry of its session
 * frees the task.
 */
export type Settlement =
  | 'done'
  | 'retried'
  | 'dead'
  | 'released'
  | 'snoozed'
  | 'suspended'
  | 'cancelled'
  | 'lost'
  | 'unsettled';

export type Failure =
  | {
      readonly kind: 'retry';
      readonly error: TaskError;
      readonly delayMs: number;
      /** The attempt does not count. */
      readonly isRefunded?: boolean;
    }
  | { readonly kind: 'dead'; readonly error: TaskError };

/**
 * Decides what follows an attempt that threw.
 * @param attempts claims so far, including this one
 */
export function judgeFailure(
  thrown: unknown,
  attempts: number,
  policy: RetryPolicy,
  at: { readonly now: number; readonly random: Random },
): Failure {
  const error = describeError(thrown, at.now);
  const isFinal = thrown instanceof DoNotRetry || thrown instanceof UnfitInputError || attempts >= policy.maxAttempts;
  if (isFinal) return { kind: 'dead', error };
  return {
    kind: 'retry',
    error,
    delayMs: delayAskedBy(thrown) ?? fullJitterMs(at.random, policy.backoff, attempts),
  };
}

/** The delay of a `RetryAfter`, unless code has changed it to something else. */
function delayAskedBy(thrown: unknown): number | undefined {
  try {
    const delayMs: unknown = thrown instanceof RetryAfter ? thrown.delayMs : undefined;
    return typeof delayMs === 'number' && delayMs >= 0 ? delayMs : undefined;
  } catch {
    return undefined;
  }
}

/** Bounds of the pause after an outage of the store. Within them, the pause is as long as the task has been failing. */
const OUTAGE_PAUSE_MS = { min: 1_000, max: 60_000 };
/** After this long, the cause is probably the task itself: an outage then counts like any other failure. */
const OUTAGE_LIMIT_MS = 86_400_000;

/**
 * Decides about an attempt that threw because our own store was throttled or did not answer. The task's code is not to blame, so the task
 * is handed back and retried after a pause. Its last request was not applied; otherwise the hand-back finds that the task has ended.
 * Returns undefined if it counts as a normal failure.
 * That includes a task with `maxAttempts: 1`, because its other effects must not repeat.
 */
export function judgeOutage(
  thrown: unknown,
  { failingSince }: Pick<RunningTask, 'failingSince'>,
  { maxAttempts }: Pick<RetryPolicy, 'maxAttempts'>,
  { now, random }: { readonly now: number; readonly random: Random },
): Extract<Failure, { kind: 'retry' }> | undefined {
  if (!(thrown instanceof StoreUnavailableError) || maxAttempts === 1) return undefined;
  const failingMs = now - (failingSince ?? now);
  if (failingMs > OUTAGE_LIMIT_MS) return undefined;
  const { min, max } = OUTAGE_PAUSE_MS;
  const pauseMs = Math.min(max, Math.max(min, failingMs));
  const delayMs = Math.round(pauseMs * (0.5 + 0.5 * random.next()));
  return { kind: 'retry', error: describeError(thrown, now), delayMs, isRefunded: true };
}

/**
 * Returns how a claim ended, from the row that refused to end it again: an earlier request without a response was applied.
 * Undefined: it was taken over, or ended by others, or ended too long ago to be in the row.
 */
export function settlementOf(claim: Claim, row: TaskRecord | undefined): Settlement | undefined {
  if (row === undefined) return undefined;
  const isOurs = ({
    session,
    leaseCounter,
  }: {
    readonly session?: string | undefined;
    readonly leaseCounter: number;
  }) => session === claim.session && leaseCounter === claim.leaseCounter;
  // Only the holder of a claim completes it;
  // a process that marks a task of an expired session dead, or cancels it, leaves the same traces as its holder.
  if (row.state === 'done') return isOurs(row) ? 'done' : undefined;
  const how = row.past.find(isOurs)?.how;
  return how === undefined ? undefined : PAST_SETTLEMENTS[how];
}

/** `died` and `cancelled` cannot be attributed: a process that ends a task of an expired session leaves the same row as its holder. */
const PAST_SETTLEMENTS = {
  done: 'done',
  failed: 'retried',
  released: 'released',
  snoozed: 'snoozed',
  died: undefined,
  cancelled: undefined,
} as const;

/** After this many hand-backs in a row, the task does not fit into its workers' lifetime. */
export const MAX_HAND_BACKS = 5;

type HandBack =
  /** New count of hand-backs. Absent: the count does not change. */
  | { readonly kind: 'release'; readonly handBacks: number | undefined }
  | { readonly kind: 'dead'; readonly error: TaskError };

/**
 * Decides about a task that was handed back:
 * it is dead after `MAX_HAND_BACKS` attempts in a row that each had most of a worker's life and made no progress.
 * Progress restarts the count. A hand-back does not count if the worker was stopped or started the task late, because it shows nothing
 * about the task's duration.
 * A task whose code may begin once is dead, however its attempt was cut short.
 */
export function judgeHandBack(
  { handBacks }: Pick<RunningTask, 'handBacks'>,
  attempt: {
    readonly isDeadline: boolean;
    /** Its code has begun, and may not begin again. */
    readonly isSpent: boolean;
    readonly hasProgressed: boolean;
    readonly ranMs: number;
    readonly lifeMs: number;
  },
  now: number,
): HandBack {
  const { isDeadline, isSpent, hasProgressed, ranMs, lifeMs } = attempt;
  if (isSpent) {
    const message =
      `its worker ${isDeadline ? 'reached its deadline' : 'was stopped'} ${Math.round(ranMs / 1_000)} s after it had begun, ` +
      'and with maxAttempts 1 it does not begin again: see what it has done, and retry it if it may run once more';
    return { kind: 'dead', error: { name: 'HandedBack', message, at: now } };
  }
  if (hasProgressed) return { kind: 'release', handBacks: 0 };
  if (!isDeadline || ranMs < lifeMs / 2) return { kind: 'release', handBacks: undefined };
  const count = handBacks + 1;
  if (count < MAX_HAND_BACKS) return { kind: 'release', handBacks: count };
  const message =
    `was handed back at its worker's deadline ${count} times in a row without new progress, ` +
    `the last time after ${Math.round(ranMs / 1_000)} s: ` +
    'save progress and go on from it, split the work, or give its workers a longer life';
  return { kind: 'dead', error: { name: 'NeverFits', message, at: now } };
}

/** Returns the recorded form of any thrown value. It is short and always well-formed. */
export function describeError(thrown: unknown, now: number): TaskError {
  const { name, message } = describeThrown(thrown, 1);
  return { name, message: shortText(message, ERROR_MESSAGE_LIMIT_CHARACTERS), at: now };
}
