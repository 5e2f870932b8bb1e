/**
 * A session proves that a worker is alive: while it is renewed, the worker keeps everything it holds.
 *
 * Guarantees
 *   - At most one incarnation renews a session, because each renewal compares the nonce of the previous one.
 *   - A session ends in one atomic step, `live` → `invalid`, which is final. Each lease that names it can then be taken
 *     over with one conditional write. No sweep is needed.
 *   - A contender waits for the TTL plus the clock bound, by its own clock. Only the holder or an operator ends a
 *     session earlier.
 *
 * Does not guarantee
 *   - That the holder has stopped. It stops by its own trust window (`core/lease/trust.ts`). Its late writes are refused by
 *     the lease counter of the row, not by the session.
 *
 *       create            renew (nonce matches, not expired)
 *     ─────────▶  live  ◀───────────────────────────────────┐
 *                  │ └────────────────────────────────────────┘
 *                  │  end (its holder) · expire (any contender, past expiresAt + skew)
 *                  │  destroy (an operator)
 *                  ▼
 *               invalid, with reason and invalidatedAt; deleted by TTL weeks later
 *
 * Clock: `expiresAt` is the holder's wall clock before it sent the renewal, plus the TTL.
 */

import { longestHeartbeatMs } from '../core/lease/timing.ts';

/** What to do with a lock when its session ends: release it, or delete its entry. */
export type SessionBehavior = 'release' | 'delete';

/** Reason for the end of a session. Only `ended` is orderly, without a lock-delay. */
export type InvalidationReason = 'ended' | 'expired' | 'destroyed';

/** Data of a Consul gateway. This code does not read it. */
export type Opaque = Readonly<Record<string, unknown>>;

interface SessionFacts {
  readonly id: string;
  /** Display name; does not have to be unique. */
  readonly name: string;
  /** Location of the holder: a host or a Lambda log stream. */
  readonly node: string;
  /** Version of the holder's code, if its process gave one. */
  readonly codeVersion?: string | undefined;
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
  /**
   * Revocations of single locks, permits or tasks. The next renewal reports them to the holder, and the one after that
   * removes them.
   */
  readonly revoked: readonly string[];
  /**
   * The holder is behind a gateway and knows only the session's id. Every caller that has the id can renew it.
   */
  readonly remote?: boolean | undefined;
  readonly consul?: Opaque | undefined;
}

export interface LiveSession extends SessionFacts {
  readonly status: 'live';
}

export interface InvalidSession extends SessionFacts {
  readonly status: 'invalid';
  readonly reason: InvalidationReason;
  readonly invalidatedAt: number;
  /** When its keys open, if the operator who ended it chose that. 0: at once. */
  readonly notBefore?: number | undefined;
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
 * After a forced end: the lock-delay counts from the invalidation, and the keys stay closed until the session would have
 * expired, because its holder trusts it until then if no heartbeat tells it. An operator may have chosen less.
 */
export function lockDelayEndsAt(session: InvalidSession, maxClockSkewMs: number): number {
  const { reason, lockDelayMs, invalidatedAt, expiresAt, ttlMs } = session;
  if (reason === 'ended') return 0;
  if (reason !== 'expired' || expiresAt === null || ttlMs === null) {
    const notBefore =
      session.notBefore ?? closedFrom(invalidatedAt, closingOf(session, { now: invalidatedAt, maxClockSkewMs }));
    return notBefore === 0 ? 0 : notBefore + maxClockSkewMs;
  }
  if (lockDelayMs === 0) return 0;
  const endedAt = Math.min(invalidatedAt, expiresAt + maxClockSkewMs);
  const noticedBy = invalidatedAt + Math.min(lockDelayMs, longestHeartbeatMs(ttlMs));
  return Math.max(endedAt + lockDelayMs, noticedBy) + maxClockSkewMs;
}

/** How long something stays closed that is taken away from its holder by force. */
export interface Closing {
  /** Counted from the write that takes it away. */
  readonly lockDelayMs: number;
  /** The earliest end of its use, by the holder's clock, because an unreachable holder continues. 0: the use has ended. */
  readonly trustedUntil: number;
  /** The renewals of its session as observed, because a later one would let its holder trust for longer. Undefined: none matters. */
  readonly renewals?: number | undefined;
}

interface Reading {
  readonly now: number;
  readonly maxClockSkewMs: number;
}

/**
 * @param session the holder's, as just read; undefined: its row is gone
 * @param askedMs the operator's own choice, which the holder's trust does not lengthen
 */
export function closingOf(session: SessionRecord | undefined, reading: Reading, askedMs?: number): Closing {
  if (askedMs !== undefined) return { lockDelayMs: askedMs, trustedUntil: 0 };
  const until = trustedUntil(session, reading);
  const renewals = until > 0 ? session?.renewals : undefined;
  return { lockDelayMs: session?.lockDelayMs ?? 0, trustedUntil: until, renewals };
}

/** Returns when something that is taken away at `now` opens, before a contender adds the bound on clock differences. 0: at once. */
export function closedFrom(now: number, { lockDelayMs, trustedUntil: until }: Closing): number {
  return Math.max(lockDelayMs === 0 ? 0 : now + lockDelayMs, until);
}

/**
 * Returns the time, by the holder's clock, after which it trusts the session no more, even if it hears nothing. 0: it does not now.
 * The callers of a remote session do not trust by our clocks, and a session without a TTL has no such time.
 * No renewal before `now` gives more than the TTL and the clock bound: a later expiry is damage.
 */
export function trustedUntil(session: SessionRecord | undefined, { now, maxClockSkewMs }: Reading): number {
  if (session === undefined || session.remote === true || session.expiresAt === null || session.ttlMs === null)
    return 0;
  if (session.status === 'invalid' && session.reason === 'ended') return 0;
  return Math.min(session.expiresAt, now + session.ttlMs + maxClockSkewMs);
}
