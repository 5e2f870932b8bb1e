/**
 * A session proves that a worker is alive: while it is renewed, the worker keeps everything it holds.
 *
 * Guarantees
 *   - At most one incarnation renews a session, because each renewal compares the nonce of the previous one.
 *   - A session ends in one atomic step, `live` → `invalid`, which is final. Each lease that names it can then be taken
 *     over with one conditional write. No sweep is needed.
 *   - A contender waits for the TTL plus the clock bound, by its own clock. Only the holder, an operator or a failed
 *     health check ends a session earlier.
 *
 * Does not guarantee
 *   - That the holder has stopped. It stops by its own trust window (`core/lease/trust.ts`). Its late writes are refused by
 *     the lease counter of the row, not by the session.
 *
 *       create            renew (nonce matches, not expired)
 *     ─────────▶  live  ◀───────────────────────────────────┐
 *                  │ └────────────────────────────────────────┘
 *                  │  end (its holder) · expire (any contender, past expiresAt + skew)
 *                  │  destroy (an operator) · health check failed
 *                  ▼
 *               invalid, with reason and invalidatedAt; deleted by TTL weeks later
 *
 * Clock: `expiresAt` is the holder's wall clock before it sent the renewal, plus the TTL.
 */

import { longestHeartbeatMs } from '../core/lease/timing.ts';

/** What to do with a lock when its session ends: release it, or delete its entry. */
export type SessionBehavior = 'release' | 'delete';

/** Reason for the end of a session. Only `ended` is orderly, without a lock-delay. */
export type InvalidationReason = 'ended' | 'expired' | 'destroyed' | 'check';

interface SessionFacts {
  readonly id: string;
  /** Display name; does not have to be unique. */
  readonly name: string;
  /** Location of the holder: a host or a Lambda log stream. */
  readonly node: string;
  /** `null`: never expires; fails closed until destroyed. */
  readonly ttlMs: number | null;
  readonly lockDelayMs: number;
  readonly behaviour: SessionBehavior;
  readonly createdAt: number;
  /** `null` for a session without TTL. */
  readonly expiresAt: number | null;
  /** Number of accepted renewals. */
  readonly renewals: number;
  readonly nonce: string;
  /** Health checks of its node. If one fails, the session ends. */
  readonly checks: readonly string[];
  /**
   * Revocations of single locks, permits or tasks. The next renewal reports them to the holder, and the one after that
   * removes them.
   */
  readonly revoked: readonly string[];
  /**
   * The holder is behind a gateway and knows only the session's id. Every caller that has the id can renew it.
   */
  readonly remote?: boolean | undefined;
}

export interface LiveSession extends SessionFacts {
  readonly status: 'live';
}

export interface InvalidSession extends SessionFacts {
  readonly status: 'invalid';
  readonly reason: InvalidationReason;
  readonly invalidatedAt: number;
}

export type SessionRecord = LiveSession | InvalidSession;

/**
 * A contender's verdict on the session that blocks it.
 *
 * `live`     still holds its keys; judge it again at `until` (`null`: only an operator can end it).
 * `expired`  marked live, but past its TTL and the clock bound; invalidate it first.
 * `closed`   invalid, in its lock-delay until `until`.
 * `free`     invalid and past its lock-delay, or deleted.
 * `damaged`  expires later than its TTL and the clock bound allow; do not wait, do not take over: an operator decides.
 */
export type Verdict =
  | { readonly kind: 'live'; readonly until: number | null }
  | { readonly kind: 'expired'; readonly session: LiveSession }
  | { readonly kind: 'closed'; readonly until: number }
  | { readonly kind: 'free' }
  | { readonly kind: 'damaged' };

/** Judges another process's session by our own wall clock. All judgments are made here. */
export function judgeSession(session: SessionRecord | undefined, now: number, maxClockSkewMs: number): Verdict {
  // A row deleted by TTL had been invalid or unrenewed for weeks.
  if (session === undefined) return { kind: 'free' };
  if (session.status === 'live') {
    if (session.expiresAt === null || session.ttlMs === null) return { kind: 'live', until: null };
    if (session.expiresAt - session.ttlMs > now + maxClockSkewMs) return { kind: 'damaged' };
    const expiredForOthersAt = session.expiresAt + maxClockSkewMs;
    return now < expiredForOthersAt ? { kind: 'live', until: expiredForOthersAt } : { kind: 'expired', session };
  }
  const openAt = lockDelayEndsAt(session, maxClockSkewMs);
  return now < openAt ? { kind: 'closed', until: openAt } : { kind: 'free' };
}

/**
 * Returns the time at which the keys of an invalid session open, safe for any clock within the bound.
 *
 * After an orderly end: at once (0).
 * After an expiry: the lock-delay counts from the earliest time at which the session could be ended, even if that
 * happened later, because its holder had stopped trusting it by then. It lasts at least one heartbeat from the
 * invalidation (or a shorter lock-delay in full), so that a holder with a wrong clock learns of the end first.
 * After a forced end: the lock-delay counts from the invalidation, because the holder may have trusted it until then.
 */
export function lockDelayEndsAt(session: InvalidSession, maxClockSkewMs: number): number {
  const { reason, lockDelayMs, invalidatedAt, expiresAt, ttlMs } = session;
  if (reason === 'ended' || lockDelayMs === 0) return 0;
  if (reason !== 'expired' || expiresAt === null || ttlMs === null) return invalidatedAt + lockDelayMs + maxClockSkewMs;
  const endedAt = Math.min(invalidatedAt, expiresAt + maxClockSkewMs);
  const noticedBy = invalidatedAt + Math.min(lockDelayMs, longestHeartbeatMs(ttlMs));
  return Math.max(endedAt + lockDelayMs, noticedBy) + maxClockSkewMs;
}
