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
import { StoreUnavailableError } from '../errors.ts';

export type Outcome<Row, Current = Row> =
  | { readonly kind: 'applied'; readonly row: Row; readonly earlierAttempt?: 'none' | 'unknown' }
  | { readonly kind: 'refused'; readonly current: Current | undefined; readonly earlierAttempt: 'none' | 'unknown' };

/**
 * A refused caller reads again and writes on top of the result, unless an unanswered attempt of its own may have been applied:
 * then someone else may have written the current value since, and the caller must not overwrite it.
 * @throws StoreUnavailableError with `applied: 'unknown'`
 */
export function ensureUnwritten(
  what: string,
  { earlierAttempt }: Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'earlierAttempt'>,
): void {
  if (earlierAttempt === 'none') return;
  throw new StoreUnavailableError(
    `${what}: unknown whether the write was applied: the response was lost and the row has changed since; read it again`,
    { applied: 'unknown' },
  );
}

/** How far a write may go: what every effectful call of the protocol passes down to the sender. */
export interface WriteLimits {
  /**
   * Called before each attempt, first try and retries alike; throws when the sender no longer believes that it may write.
   * A request frozen with its environment would otherwise be sent after the thaw, on behalf of a holder that is gone.
   */
  readonly ensureBelief?: () => void;
  /** Ends waiting and retrying. */
  readonly signal?: AbortSignal | undefined;
  /** Total time for all attempts; the sender's default applies when absent. */
  readonly budgetMs?: number | undefined;
}
