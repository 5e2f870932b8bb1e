/**
 * A session is a worker's liveness contract: as long as it is renewed, everything that hangs on it stays its own.
 *
 * Guarantees
 *   - At most one incarnation renews a session: each renewal compares the nonce of the one before.
 *   - A session ends in one atomic step, `live` → `invalid`, and never comes back.
 *     From then on every lease that names it is free for the taking,
 *     one conditional write each; no sweep is needed.
 *   - Only an operator ends a session before its TTL has passed on the ender's clock, plus the stated bound on clock differences.
 *
 * Does not guarantee
 *   - That its holder has stopped. A holder stops by its own trust window (`core/lease/trust.ts`);
 *     what it sends late is refused by the lease counter
 *     of the row it writes, not by the session.
 *
 *       create            renew (nonce matches, not expired)
 *     ─────────▶  live  ◀───────────────────────────────────┐
 *                  │ └────────────────────────────────────────┘
 *                  │  end (its holder) · expire (any contender, past expiresAt + skew)
 *                  │  destroy (an operator) · check lost
 *                  ▼
 *               invalid, with reason and invalidatedAt; swept by TTL long after
 *
 * Clock: `expiresAt` is the holder's wall clock before the renewal was sent, plus the TTL.
 */

import { longestHeartbeatMs } from '../core/lease/timing.ts';

/** What becomes of a lock when its session is invalidated: it is released, or its entry deleted. */
export type SessionBehavior = 'release' | 'delete';

/** Why a session became invalid. Only `ended` is orderly and imposes no lock-delay. */
export type InvalidationReason = 'ended' | 'expired' | 'destroyed' | 'check';

interface SessionFacts {
  readonly id: string;
  /** Display name; does not have to be unique. */
  readonly name: string;
  /** Where it runs: a host, a Lambda log stream. */
  readonly node: string;
  /** `null`: never expires, fails closed until destroyed. */
  readonly ttlMs: number | null;
  readonly lockDelayMs: number;
  readonly behaviour: SessionBehavior;
  readonly createdAt: number;
  /** `null` for a session without TTL. */
  readonly expiresAt: number | null;
  /** Number of accepted renewals. */
  readonly renewals: number;
  readonly nonce: string;
  /** Checks of its node that it is bound to: when one of them fails, it ends. */
  readonly checks: readonly string[];
  /**
   * What was taken away from it one by one, while it went on;
   * its holder learns of it with the next renewal, and it goes with the one after.
   */
  readonly revoked: readonly string[];
  /**
   * Its holder is somewhere beyond a gateway, and knows nothing but its id: a caller that names it renews it.
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
 * What a contender may conclude from a session that stands in its way.
 *
 * `live`     held; `until` is when it may be judged again (`null`: only a person can end it).
 * `expired`  still marked live, but past its TTL and the clock bound: invalidate it first.
 * `closed`   invalid, within its lock-delay until `until`.
 * `free`     invalid and past its lock-delay, or gone.
 * `damaged`  its expiry lies further ahead than its TTL and the clock bound allow: it is neither awaited nor taken over; a person looks.
 */
export type Verdict =
  | { readonly kind: 'live'; readonly until: number | null }
  | { readonly kind: 'expired'; readonly session: LiveSession }
  | { readonly kind: 'closed'; readonly until: number }
  | { readonly kind: 'free' }
  | { readonly kind: 'damaged' };

/** The one judgement of a foreign session, by the judge's own wall clock. */
export function judgeSession(session: SessionRecord | undefined, now: number, maxClockSkewMs: number): Verdict {
  // A swept row was invalid, or unrenewed, for the weeks that its TTL attribute lies beyond any use.
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
 * When the keys of an invalid session open, by any clock within the bound: at once (0) after an orderly end.
 * The lock-delay of a session that expired counts from when it could be ended first,
 * for its holder has not believed since, however late another session looks.
 * It lasts a heartbeat from its invalidation at least, or all of a shorter lock-delay:
 * a holder whose clock is wrong learns of its end by then.
 * One that was ended by force may have been believed in until that moment, so its lock-delay counts from there.
 */
export function lockDelayEndsAt(session: InvalidSession, maxClockSkewMs: number): number {
  const { reason, lockDelayMs, invalidatedAt, expiresAt, ttlMs } = session;
  if (reason === 'ended' || lockDelayMs === 0) return 0;
  if (reason !== 'expired' || expiresAt === null || ttlMs === null) return invalidatedAt + lockDelayMs + maxClockSkewMs;
  const endedAt = Math.min(invalidatedAt, expiresAt + maxClockSkewMs);
  const noticedBy = invalidatedAt + Math.min(lockDelayMs, longestHeartbeatMs(ttlMs));
  return Math.max(endedAt + lockDelayMs, noticedBy) + maxClockSkewMs;
}
