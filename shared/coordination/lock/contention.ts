import type { Outcome } from '../../core/lease/outcome.ts';

/** Maximum attempts of a write that depends on a read of the same key. */
export const WRITE_CONTENTION = { rounds: 10 };

export type KeyRefusal = Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'kind' | 'earlierAttempt'>;
