/**
 * What became of a conditional write.
 *
 * `applied`  the write took effect exactly once, and `row` is what it left behind.
 * `refused`  its condition was false; `current` is the row that refused it (absent: there is none).
 *            `earlierAttempt: 'unknown'` means that an unanswered attempt of the same write may have been applied
 *            and then overwritten by somebody else: the writer holds nothing now, but cannot say that nothing happened.
 *
 * The third value, unknown, is an exception (`StoreUnavailableError` with `applied: 'unknown'`): no caller can go on as if it knew.
 */
export type Outcome<Row, Current = Row> =
  | { readonly kind: 'applied'; readonly row: Row }
  | { readonly kind: 'refused'; readonly current: Current | undefined; readonly earlierAttempt: 'none' | 'unknown' };

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
