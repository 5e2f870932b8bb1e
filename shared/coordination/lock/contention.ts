import type { Outcome } from '../../core/lease/outcome.ts';

/** How often a write of a key is tried that rests on what was read of it. */
export const WRITE_CONTENTION = { rounds: 10 };

export type KeyRefusal = Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'kind' | 'earlierAttempt'>;
