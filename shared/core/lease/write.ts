/** A write: its stamp, its limits, and its outcome. */
import type { Runtime } from '../runtime/runtime.ts';
import { StoreUnavailableError } from '../errors.ts';

/** Part of every write: the writer's wall clock, and a nonce by which it recognises its own unanswered attempts. */
export interface Stamp {
  readonly now: number;
  readonly nonce: string;
}

/** One per logical write: retries of a write have the same stamp, and the next write has a new one. */
export function stampOf({ clock, ids }: Runtime): Stamp {
  return { now: clock.now(), nonce: ids.unique() };
}

/**
 * Outcome of a conditional write.
 *
 * `applied`  the write took effect, and `row` is the row after it.
 *            `earlierAttempt: 'unknown'` means that an unanswered attempt of the same write may still be in flight:
 *            if its guard becomes true again, it is applied again.
 * `refused`  its condition was false; `current` is the row that refused it (absent: there is none).
 *            `earlierAttempt: 'unknown'` means that an unanswered attempt of the same write may have been applied
 *            and then overwritten: the writer holds nothing now, but cannot say that nothing happened.
 *
 * The third outcome, unknown, is an exception (`StoreUnavailableError` with `applied: 'unknown'`), because no caller can continue as if it
 * knew.
 */
export type Outcome<Row, Current = Row> =
  | { readonly kind: 'applied'; readonly row: Row; readonly earlierAttempt?: 'none' | 'unknown' }
  | { readonly kind: 'refused'; readonly current: Current | undefined; readonly earlierAttempt: 'none' | 'unknown' };

/**
 * A refused caller reads again and writes on top of the result, unless its own unanswered attempt may have been applied:
 * then someone else may have written the current value since, and the caller must not overwrite it.
 * @param found the row's present content
 * @throws StoreUnavailableError with `applied: 'unknown'`
 */
export function ensureUnwritten(
  what: string,
  { earlierAttempt }: Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'earlierAttempt'>,
  found?: string,
): void {
  if (earlierAttempt === 'none') return;
  throw new StoreUnavailableError(
    `${what}: unknown whether the write was applied: the response was lost and the row has changed since` +
      `${found === undefined ? '' : `; now ${found}`}; read it again`,
    { applied: 'unknown' },
  );
}

/** Limits of a write, which every writing call of the protocol passes down to the sender. */
export interface WriteLimits {
  /**
   * Called before each attempt, including retries. Throws if the sender can no longer trust its lease.
   * Otherwise a request that was frozen with its environment would be sent after the thaw, on behalf of a superseded holder.
   */
  readonly ensureTrusted?: () => void;
  /** Ends waiting and retrying. */
  readonly signal?: AbortSignal | undefined;
  /** Total time for all attempts. Default: the sender's. */
  readonly budgetMs?: number | undefined;
}
