/** What whoever writes a key is told when others have come before. */
import { StoreUnavailableError } from '../errors.ts';
import type { Outcome } from '../lease/outcome.ts';
import { describeLock } from './lock.ts';

/** Each round but the last was lost to another writer. */
export const WRITE_ROUNDS_LIMIT = 10;

export type KeyRefusal = Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'kind' | 'earlierAttempt'>;

export function contended(key: string): StoreUnavailableError {
  const message = `${describeLock(key)} was written by others ${WRITE_ROUNDS_LIMIT} times between our looking and our writing; try again`;
  return new StoreUnavailableError(message, { applied: 'no' });
}
