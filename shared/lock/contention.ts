import type { Outcome } from '../lease/outcome.ts';

/** Of writes of a key that rest on what was read of it. */
export const WRITE_CONTENTION = { rounds: 10 };

export type KeyRefusal = Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'kind' | 'earlierAttempt'>;
