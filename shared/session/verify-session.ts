/** The part of verifying a sequencer that concerns its session. */
import { firstFailure } from './health.ts';
import type { SessionRecord } from './session-record.ts';
import { judgeSession } from './session-record.ts';
import type { SessionStore } from './session-store.ts';

/**
 * `valid`       it was the current tenure at the moment of reading; that says nothing about the moment after.
 * `superseded`  there is a newer tenure, or an operator has ended it.
 * `released`    it was released, or ended with its task, and nobody has acquired it since.
 * `sessionDead` its session is invalid, expired by our clock and the clock bound, or has a failed health check.
 */
export type Verification =
  | { readonly kind: 'valid'; readonly until: number | null }
  | { readonly kind: 'superseded'; readonly leaseCounter: number }
  | { readonly kind: 'released' }
  | { readonly kind: 'sessionDead' };

export interface VerifySessionPorts {
  readonly sessions: SessionStore;
  /** Our wall clock. */
  readonly now: () => number;
  readonly maxClockSkewMs: number;
}

/** For all kinds of leases. Returns the verdict on a lease whose row still names the sequencer. */
export async function verifySession(
  session: SessionRecord | undefined,
  { sessions, now, maxClockSkewMs }: VerifySessionPorts,
): Promise<Verification> {
  if (session === undefined) return { kind: 'sessionDead' };
  const verdict = judgeSession(session, now(), maxClockSkewMs);
  if (verdict.kind !== 'live') return { kind: 'sessionDead' };
  if (session.checks.length === 0) return { kind: 'valid', until: verdict.until };
  const checks = await sessions.getChecks(session.node, session.checks);
  const hasFailed = firstFailure(session, checks, now(), maxClockSkewMs) !== undefined;
  return hasFailed ? { kind: 'sessionDead' } : { kind: 'valid', until: verdict.until };
}
