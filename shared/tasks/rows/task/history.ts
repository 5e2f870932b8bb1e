/**
 * The task row, continued: past attempts, in a ring indexed by the lease counter.
 * The counter grows by one with each attempt, so the ring can be written without reading it.
 */
import { defined } from '../../../core/defined.ts';
import type { Claim, PastAttempt, TaskError } from '../../task/task.ts';
import { PAST_ATTEMPTS_KEPT, PAST_ERROR_LIMIT_CHARACTERS } from '../../task/task.ts';

/** Uses the value `:past`. */
export function remember({ leaseCounter }: Pick<Claim, 'leaseCounter'>): string {
  return `#past${leaseCounter % PAST_ATTEMPTS_KEPT} = :past`;
}

export function pastAttempt(
  { leaseCounter, session, claimedAt }: Pick<Claim, 'leaseCounter' | 'session' | 'claimedAt'>,
  how: PastAttempt['how'],
  endedAt: number,
  error?: TaskError,
): Readonly<Record<string, unknown>> {
  return {
    counter: leaseCounter,
    session,
    endedAt,
    how,
    ...defined({ claimedAt }),
    ...(error === undefined
      ? {}
      : { error: `${error.name}: ${error.message}`.slice(0, PAST_ERROR_LIMIT_CHARACTERS).toWellFormed() }),
  };
}
