/** The contender's side of a session: judging it, and ending it once it has expired. */
import type { SkewGauge } from '../core/lease/skew.ts';
import { ensureClockWithin } from '../core/lease/skew.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import type { LiveSession, SessionRecord, Verdict } from './session-record.ts';
import { judgeSession } from './session-record.ts';
import type { HolderSessionStore, SessionStore } from './session-store.ts';

/** Requirements for judging one session. */
export interface ContenderPorts {
  readonly sessions: HolderSessionStore;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
  /** Ends a live session for a reason that only the caller knows. @returns the session as it is then; undefined if it stays */
  readonly endLive?: ((session: LiveSession) => Promise<SessionRecord | undefined>) | undefined;
}

/** Additional requirements for judging many sessions at once, or listing them. */
export interface SessionPorts extends ContenderPorts {
  readonly sessions: SessionStore;
}

/** A session's state after the contender has done all it may: `expired` has become `closed` or `free`. */
export type SessionVerdict = Exclude<Verdict, { kind: 'expired' }>;

/**
 * Judges a session that blocks the caller, and invalidates it if it has expired.
 * The caller has already read it; this sends at most one write.
 * @throws ClockSkewError when our clock is proven too wrong to end a session
 */
export async function settleSession(
  observed: SessionRecord | undefined,
  ports: ContenderPorts,
  maxClockSkewMs: number,
): Promise<SessionVerdict> {
  const { clock, ids } = ports.runtime;
  const now = clock.now();
  const verdict = judgeSession(observed, now, maxClockSkewMs);
  if (verdict.kind === 'live' && observed?.status === 'live') {
    const ended = await ports.endLive?.(observed);
    const after = ended === undefined ? verdict : judgeSession(ended, clock.now(), maxClockSkewMs);
    return after.kind === 'expired' ? verdict : after;
  }
  if (verdict.kind !== 'expired') return verdict;
  ensureClockWithin(ports.gauge, maxClockSkewMs);
  const expiry = { observed: verdict.session, expiredBefore: now - maxClockSkewMs, now, nonce: ids.unique() };
  const outcome = await ports.sessions.expire(expiry);
  const after = outcome.kind === 'applied' ? outcome.row : outcome.current;
  const again = judgeSession(after, clock.now(), maxClockSkewMs);
  // It was refused because it was renewed, and expired again before the response arrived: judge it again later.
  return again.kind === 'expired' ? { kind: 'live', until: clock.now() } : again;
}

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
