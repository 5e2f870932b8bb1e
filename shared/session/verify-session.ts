/** The part of verifying a sequencer that concerns its session. */
import type { SessionRecord } from './session-record.ts';
import { judgeSession } from './session-record.ts';

/**
 * `valid`       it was the current tenure at the moment of reading; that says nothing about the moment after.
 * `superseded`  there is a newer tenure, or an operator has ended it.
 * `released`    it was released, or ended with its task, and its key is free.
 * `sessionDead` its session is invalid or expired by our clock and the clock bound.
 */
export type Verification =
  | { readonly kind: 'valid'; readonly until: number | null }
  | { readonly kind: 'superseded'; readonly leaseCounter: number }
  | { readonly kind: 'released' }
  | { readonly kind: 'sessionDead' };

export interface VerifySessionPorts {
  /** Our wall clock. */
  readonly now: () => number;
  readonly maxClockSkewMs: number;
}

/** For all kinds of leases. Returns the verdict on a lease whose row still names the sequencer. */
export function verifySession(
  session: SessionRecord | undefined,
  { now, maxClockSkewMs }: VerifySessionPorts,
): Verification {
  if (session === undefined) return { kind: 'sessionDead' };
  const verdict = judgeSession(session, now(), maxClockSkewMs);
  return verdict.kind === 'live' ? { kind: 'valid', until: verdict.until } : { kind: 'sessionDead' };
}
