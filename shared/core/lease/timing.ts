/**
 * The time settings, and how they constrain each other.
 *
 * Two holders must never trust the same lease at once.
 * If Δ is the largest difference between any two clocks, this requires `holderMarginMs + maxClockSkewMs >= Δ`:
 * the holder stops `holderMarginMs` early, and a contender starts `maxClockSkewMs` late (Gray and Cheriton 1989).
 * Here the contender allows for the whole of Δ, so the TTL is also a true lower bound for the holder.
 * The holder's margin is the time that its own code needs to notice and stop.
 */
import { ConfigurationError, shown } from '../errors.ts';

export interface SessionTiming {
  /** Lease duration in milliseconds; `null` means no expiry: it fails closed until it is destroyed. */
  readonly ttlMs: number | null;
  readonly heartbeatMs: number;
  /** How long before the TTL's end the holder stops trusting the lease. */
  readonly holderMarginMs: number;
  /** How long the keys of an invalidated session stay closed; an orderly end imposes none. */
  readonly lockDelayMs: number;
  /** Stated bound on the difference between any two clocks. */
  readonly maxClockSkewMs: number;
}

/** Half a minute: short enough for a prompt takeover, long enough for a heartbeat every ten seconds. */
export const DEFAULT_TTL_MS = 30_000;
/** Consul's default; its bound is a minute. */
export const DEFAULT_LOCK_DELAY_MS = 15_000;
export const MAX_LOCK_DELAY_MS = 60_000;
/** Well-kept clocks differ by milliseconds. A second leaves a margin, and delays each takeover by a second. */
export const DEFAULT_MAX_CLOCK_SKEW_MS = 1_000;
/** A day, as in Consul. A later expiry is damage. */
export const MAX_TTL_MS = 86_400_000;
export const MIN_TTL_MS = 300;
const MAX_HOLDER_MARGIN_MS = 1_000;

type GivenTiming = { readonly [Name in keyof SessionTiming]?: SessionTiming[Name] | undefined };

/** Adds defaults and checks all settings. @throws ConfigurationError naming both settings of a violated constraint */
export function sessionTiming(given: GivenTiming = {}): SessionTiming {
  const ttlMs = given.ttlMs === undefined ? DEFAULT_TTL_MS : given.ttlMs;
  const timing: SessionTiming = {
    ttlMs,
    heartbeatMs: given.heartbeatMs ?? Math.floor((ttlMs ?? DEFAULT_TTL_MS) / 3),
    holderMarginMs: given.holderMarginMs ?? Math.min(MAX_HOLDER_MARGIN_MS, Math.floor((ttlMs ?? DEFAULT_TTL_MS) / 10)),
    lockDelayMs: given.lockDelayMs ?? DEFAULT_LOCK_DELAY_MS,
    maxClockSkewMs: given.maxClockSkewMs ?? DEFAULT_MAX_CLOCK_SKEW_MS,
  };
  validateSessionTiming(timing);
  return timing;
}

export function validateSessionTiming(timing: SessionTiming): void {
  for (const [name, value] of Object.entries(timing)) {
    if (name === 'ttlMs' && value === null) continue;
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
      throw new ConfigurationError(
        `${name.replace(/Ms$/, '')} = ${shown(value)}: must be a number of milliseconds, zero or more`,
      );
  }
  const { ttlMs, heartbeatMs, holderMarginMs, lockDelayMs } = timing;
  if (lockDelayMs > MAX_LOCK_DELAY_MS)
    throw new ConfigurationError(
      `lockDelay = ${lockDelayMs} ms is above ${MAX_LOCK_DELAY_MS}: must be 0 to 60 seconds`,
    );
  if (ttlMs !== null && (ttlMs < MIN_TTL_MS || ttlMs > MAX_TTL_MS))
    throw new ConfigurationError(
      `ttl = ${ttlMs}: must be ${MIN_TTL_MS} ms to a day; a bare number is milliseconds, '30s' is seconds`,
    );
  // Without a TTL a heartbeat renews nothing, but reads the row.
  if (heartbeatMs < 1) throw new ConfigurationError(`heartbeat = ${heartbeatMs}: must be at least a millisecond`);
  if (ttlMs === null) return;
  if (heartbeatMs * 3 > ttlMs)
    throw new ConfigurationError(
      `ttl = ${ttlMs} ms is less than three times heartbeat = ${heartbeatMs} ms: ` +
        `one lost heartbeat would end the session; raise ttl or lower heartbeat`,
    );
  if (heartbeatMs + holderMarginMs >= ttlMs)
    throw new ConfigurationError(
      `heartbeat = ${heartbeatMs} ms plus holderMargin = ${holderMarginMs} ms does not fit into ttl = ${ttlMs} ms`,
    );
}

/** The longest time between two heartbeats of any session with this TTL: a third of it. */
export function longestHeartbeatMs(ttlMs: number): number {
  return Math.floor(ttlMs / 3);
}

/** How long a holder trusts its lease after each successful create or renew. */
export function trustDurationMs(timing: SessionTiming): number {
  return timing.ttlMs === null ? Infinity : timing.ttlMs - timing.holderMarginMs;
}
