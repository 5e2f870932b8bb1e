/** Whether a sequencer is still that of the current tenure: the question that a server asks before it does what a holder wants of it. */
import type { Sequencer } from '../lease/sequencer.ts';
import { firstFailure } from '../session/health.ts';
import type { SessionRecord } from '../session/session.ts';
import { judgeSession } from '../session/session.ts';
import type { SessionStore } from '../session/store.ts';
import type { LockStore } from './store.ts';

/**
 * `valid`       it was the current tenure at the moment of reading; that says nothing about the moment after.
 * `superseded`  there is a newer tenure, or it was ended by force.
 * `released`    it was given back, and nobody has taken it since.
 * `sessionDead` its session is invalid, expired by our clock and the bound on differences, or has lost a health check.
 */
export type Verification =
  | { readonly kind: 'valid'; readonly until: number | null }
  | { readonly kind: 'superseded'; readonly leaseCounter: number }
  | { readonly kind: 'released' }
  | { readonly kind: 'sessionDead' };

export interface VerifyPorts {
  readonly locks: LockStore;
  readonly sessions: SessionStore;
  /** Our wall clock. */
  readonly now: () => number;
  readonly maxClockSkewMs: number;
}

/** One strongly consistent request; another when the session is bound to health checks. Writes nothing. */
export async function verifyLock(sequencer: Sequencer, ports: VerifyPorts): Promise<Verification> {
  const { key, leaseCounter, session: id } = sequencer;
  const { lock, session } = await ports.locks.getWithSession(key, id, { consistent: true });
  // A row that is gone was swept, weeks after its last use.
  if (lock === undefined) return { kind: 'released' };
  if (lock.leaseCounter !== leaseCounter) return { kind: 'superseded', leaseCounter: lock.leaseCounter };
  if (lock.state === 'free') return { kind: 'released' };
  if (lock.session !== id) return { kind: 'superseded', leaseCounter: lock.leaseCounter };
  return verifySession(session, ports);
}

/** The half of the answer that is about the session: for leases of every kind. */
export async function verifySession(
  session: SessionRecord | undefined,
  { sessions, now, maxClockSkewMs }: Omit<VerifyPorts, 'locks'>,
): Promise<Verification> {
  if (session === undefined) return { kind: 'sessionDead' };
  const verdict = judgeSession(session, now(), maxClockSkewMs);
  if (verdict.kind !== 'live') return { kind: 'sessionDead' };
  if (session.checks.length === 0) return { kind: 'valid', until: verdict.until };
  const checks = await sessions.getChecks(session.node, session.checks);
  const hasFailed = firstFailure(session, checks, now(), maxClockSkewMs) !== undefined;
  return hasFailed ? { kind: 'sessionDead' } : { kind: 'valid', until: verdict.until };
}
