/**
 * What became of a conditional write.
 *
 * `applied`  the write took effect, and `row` is what it left behind.
 *            `earlierAttempt: 'unknown'` means that an unanswered attempt of the same write may be on its way yet:
 *            one whose guard comes true again is applied again.
 * `refused`  its condition was false; `current` is the row that refused it (absent: there is none).
 *            `earlierAttempt: 'unknown'` means that an unanswered attempt of the same write may have been applied
 *            and then overwritten by another: the writer holds nothing now, but cannot say that nothing happened.
 *
 * The third value, unknown, is an exception (`StoreUnavailableError` with `applied: 'unknown'`): no caller can go on as if it knew.
 */
import { StoreUnavailableError } from '../errors.ts';

export type Outcome<Row, Current = Row> =
  | { readonly kind: 'applied'; readonly row: Row; readonly earlierAttempt?: 'none' | 'unknown' }
  | { readonly kind: 'refused'; readonly current: Current | undefined; readonly earlierAttempt: 'none' | 'unknown' };

/**
 * A caller that was refused looks again and writes on what it finds, unless an unanswered attempt of its own may have been applied:
 * then what is there now may have been written since, and is not his to write over.
 * @throws StoreUnavailableError with `applied: 'unknown'`
 */
export function ensureUnwritten(
  what: string,
  { earlierAttempt }: Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'earlierAttempt'>,
): void {
  if (earlierAttempt === 'none') return;
  throw new StoreUnavailableError(
    `${what}: could not tell whether the write was applied: the response was lost and the row has changed since; look at it again`,
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
