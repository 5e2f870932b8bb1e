/**
 * A token bucket for each key: `rate` tokens flow in per period, `burst` fit in, and a take needs as many as it says.
 *
 * Guarantees
 *   - By a bucket go, in any span of time, at most `burst` tokens plus those that flow in during the span
 *     plus those that flow in while clocks differ.
 *   - A refused take takes nothing, and says when it may be tried again.
 *   - Refill is calculated when somebody takes, from that taker's clock: nothing runs while nobody takes.
 *
 * Does not guarantee
 *   - Order: whoever asks when there are tokens gets them.
 *   - A limit on what is at work at one time: that is a semaphore's work.
 *
 * The row holds one moment, `emptyAt`: when the bucket would have been empty, had nothing but the flow filled it since.
 *
 *        emptyAt                    now          tokens in the bucket = (now − emptyAt) ÷ time per token, at most `burst`
 *     ──────┴────────────────────────┴──────▶     take: emptyAt moves right by the time of its tokens, never past now
 *
 * Cost: one request, one write unit. A key that nobody used for as long as it takes to fill takes a second request, to begin with a full bucket.
 */
import { ConfigurationError } from '../errors.ts';
import type { Duration } from '../lease/duration.ts';
import { durationMs } from '../lease/duration.ts';

export interface RateOptions {
  /** Tokens that flow in per period. */
  readonly rate: number;
  readonly per: Duration;
  /** Tokens that fit in; as many as `rate` when absent. */
  readonly burst?: number | undefined;
}

export interface Bucket {
  readonly msPerToken: number;
  readonly burst: number;
}

/** A take of so many tokens now, in the moments that its guards compare. */
export interface Draw {
  /** A bucket empty before this is full by now. */
  readonly fullSince: number;
  /** A bucket empty at or before this has enough by now. */
  readonly enoughSince: number;
  /** How far a take moves `emptyAt`. */
  readonly costMs: number;
}

/** @throws ConfigurationError */
export function bucketOf(what: string, { rate, per, burst = rate }: RateOptions): Bucket {
  const perMs = durationMs(`${what}: per`, per);
  if (!Number.isFinite(rate) || rate <= 0 || perMs === 0)
    throw new ConfigurationError(`${what}: rate = ${rate} per ${String(per)}: give more than zero of both`);
  if (!Number.isFinite(burst) || burst < 1)
    throw new ConfigurationError(`${what}: burst = ${burst}: give at least 1, or nothing could ever be taken`);
  return { msPerToken: roundToMicroseconds(perMs / rate), burst };
}

/** @throws ConfigurationError when so many could never be taken */
export function drawOf(what: string, { msPerToken, burst }: Bucket, tokens: number, now: number): Draw {
  if (!Number.isFinite(tokens) || tokens <= 0)
    throw new ConfigurationError(`${what}: tokens = ${tokens}: give a number above zero`);
  if (tokens > burst)
    throw new ConfigurationError(
      `${what}: tokens = ${tokens} is more than burst = ${burst}: so many are never there at once`,
    );
  const costMs = roundToMicroseconds(tokens * msPerToken);
  return { fullSince: now - roundToMicroseconds(burst * msPerToken), enoughSince: now - costMs, costMs };
}

/** Whole tokens in a bucket. */
export function tokensIn({ msPerToken, burst }: Bucket, emptyAt: number | undefined, now: number): number {
  if (emptyAt === undefined) return Math.floor(burst);
  return Math.max(0, Math.floor(Math.min(burst, (now - emptyAt) / msPerToken)));
}

/** Keeps the stored number short. */
function roundToMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
