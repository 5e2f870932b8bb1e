/** What whoever writes a key is told when others have come before. */
import { StoreUnavailableError } from '../errors.ts';
import type { Outcome } from '../lease/outcome.ts';
import { describeLock } from './lock.ts';

/** Each round but the last was lost to another writer. */
export const WRITE_ROUNDS_LIMIT = 10;

export type KeyRefusal = Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'kind' | 'earlierAttempt'>;

/**
 * Whoever was refused looks again and writes on what he finds, unless an attempt of his that was not answered may have been applied:
 * then what is there now may have been written since, and is not his to write over.
 * @throws StoreUnavailableError with `applied: 'unknown'`
 */
export function ensureUnwritten(key: string, { earlierAttempt }: KeyRefusal): void {
  if (earlierAttempt === 'none') return;
  const message = `${describeLock(key)}: whether it was written is not known, for an answer was lost and others have written it since; look at it again`;
  throw new StoreUnavailableError(message, { applied: 'unknown' });
}

export function contended(key: string): StoreUnavailableError {
  const message = `${describeLock(key)} was written by others ${WRITE_ROUNDS_LIMIT} times between our looking and our writing; try again`;
  return new StoreUnavailableError(message, { applied: 'no' });
}
