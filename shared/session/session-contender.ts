/** The contender's side of a session: judging it, and ending it once it has expired. */
import type { SkewGauge } from '../core/lease/skew.ts';
import { ensureClockWithin } from '../core/lease/skew.ts';
import { stampOf } from '../core/lease/stamp.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import type { SessionRecord, Verdict } from './session-record.ts';
import { firstFailure } from './health.ts';
import { judgeSession } from './session-record.ts';
import type { HolderSessionStore, SessionStore } from './session-store.ts';

/** Requirements for judging one session. */
export interface ContenderPorts {
  readonly sessions: HolderSessionStore;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
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
 * A live session that is bound to health checks costs another read.
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
  if (verdict.kind === 'live') return (await settleFailedChecks(observed, ports, maxClockSkewMs)) ?? verdict;
  if (verdict.kind !== 'expired') return verdict;
  ensureClockWithin(ports.gauge, maxClockSkewMs);
  const expiry = { observed: verdict.session, expiredBefore: now - maxClockSkewMs, now, nonce: ids.unique() };
  const outcome = await ports.sessions.expire(expiry);
  const after = outcome.kind === 'applied' ? outcome.row : outcome.current;
  const again = judgeSession(after, clock.now(), maxClockSkewMs);
  // It was refused because it was renewed, and expired again before the response arrived: judge it again later.
  return again.kind === 'expired' ? { kind: 'live', until: clock.now() } : again;
}

/** Ends a session that has a live heartbeat but a failed check. Returns undefined if all checks pass. */
async function settleFailedChecks(
  session: SessionRecord | undefined,
  ports: ContenderPorts,
  maxClockSkewMs: number,
): Promise<SessionVerdict | undefined> {
  if (session === undefined || session.checks.length === 0) return undefined;
  const { clock } = ports.runtime;
  const checks = await ports.sessions.getChecks(session.node, session.checks);
  if (firstFailure(session, checks, clock.now(), maxClockSkewMs) === undefined) return undefined;
  ensureClockWithin(ports.gauge, maxClockSkewMs);
  const outcome = await ports.sessions.invalidate({ id: session.id, reason: 'check', ...stampOf(ports.runtime) });
  const after = judgeSession(outcome.kind === 'applied' ? outcome.row : outcome.current, clock.now(), maxClockSkewMs);
  return after.kind === 'expired' ? undefined : after;
}
