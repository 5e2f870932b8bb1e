import type { Outcome } from '../../core/lease/outcome.ts';

/** Attempts of a write to a key that depends on a read of it. */
export const WRITE_CONTENTION = { rounds: 10 };

export type KeyRefusal = Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'kind' | 'earlierAttempt'>;
