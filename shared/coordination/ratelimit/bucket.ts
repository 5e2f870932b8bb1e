/**
 * A token bucket per key: `rate` tokens flow in per period, the bucket holds at most `burst` tokens, and each take names the number it
 * needs.
 *
 * Guarantees
 *   - In any span of time, a bucket gives out at most `burst` tokens plus the inflow of the span,
 *     plus the inflow of the clock difference and of the time that a take is in flight (at most 8 s):
 *     a take counts from the time of its request. The specification found the last part (`proof/spec/RateLimit.tla`).
 *   - A refused take takes no tokens, and returns when to try again.
 *   - Each take calculates the refill from the taker's clock; no background process runs.
 *   - Time is counted in microseconds: the rate is met to a thousandth.
 *
 * Does not guarantee
 *   - Order: a caller that asks while there are tokens gets them.
 *   - A limit on concurrent work: use a semaphore.
 *
 * The row stores one timestamp, `emptyAt`: when the bucket would have been empty if only the flow had filled it since.
 *
 *        emptyAt                    now          tokens in the bucket = (now − emptyAt) ÷ time per token, at most `burst`
 *     ──────┴────────────────────────┴──────▶     take: emptyAt moves right by the time of its tokens, never past now
 *
 * Cost: one request, one write unit. If a key was unused for at least its time
 * to fill, the take needs a second request, which begins with a full bucket.
 */
import { ConfigurationError, shown } from '../../core/errors.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { durationMs } from '../../core/validate/duration.ts';
import { validOptions } from '../../core/validate/options.ts';

export interface RateOptions {
  /** Tokens that flow in per period. */
  readonly rate: number;
  readonly per: Duration;
  /** Maximum tokens in the bucket. Default: `rate`. */
  readonly burst?: number | undefined;
}

export interface Bucket {
  readonly msPerToken: number;
  readonly burst: number;
}

/** A take at a given time, as the timestamps that its guards compare. */
export interface Draw {
  /** A bucket that was empty before this time is full by now. */
  readonly fullSince: number;
  /** A bucket that was empty at or before this time has enough tokens by now. */
  readonly enoughSince: number;
  /** How far a take moves `emptyAt`. */
  readonly costMs: number;
}

/** The time at which a full bucket was empty must be an exact number. This is half of a number's exact range, 142,000 years. */
const LONGEST_FILL_MS = 2 ** 52;

/** @throws ConfigurationError */
export function bucketOf(what: string, options: RateOptions): Bucket {
  const known = ['rate', 'per', 'burst'] as const;
  const { rate, per, burst = rate } = validOptions(`the options of ${what}`, options, known);
  const perMs = durationMs(`${what}: per`, per);
  if (!Number.isFinite(rate) || rate <= 0 || perMs === 0)
    throw new ConfigurationError(`${what}: rate = ${shown(rate)} per ${shown(per)}: both must be above zero`);
  if (!Number.isFinite(burst) || burst < 1)
    throw new ConfigurationError(
      `${what}: burst = ${shown(burst)}: must be at least 1, or nothing could ever be taken`,
    );
  const msPerToken = msPerTokenOf(perMs / rate);
  if (burst * msPerToken > LONGEST_FILL_MS)
    throw new ConfigurationError(
      `${what}: burst = ${burst} at rate = ${rate} per ${shown(per)} takes ${Math.round(burst * msPerToken)} ms to flow ` +
        'in, and no row holds such a moment: pass a smaller burst, or a higher rate',
    );
  return { msPerToken, burst };
}

/** @throws ConfigurationError when the bucket can never hold that many */
export function drawOf(what: string, { msPerToken, burst }: Bucket, tokens: number, now: number): Draw {
  if (!Number.isFinite(tokens) || tokens <= 0)
    throw new ConfigurationError(`${what}: tokens = ${shown(tokens)}: must be a number above zero`);
  if (tokens > burst)
    throw new ConfigurationError(
      `${what}: tokens = ${tokens} is more than burst = ${burst}: the bucket never holds that many at once`,
    );
  const costMs = upToMicroseconds(tokens * msPerToken);
  return { fullSince: now - upToMicroseconds(burst * msPerToken), enoughSince: now - costMs, costMs };
}

/** Returns the number of whole tokens in a bucket. */
export function tokensIn({ msPerToken, burst }: Bucket, emptyAt: number | undefined, now: number): number {
  if (emptyAt === undefined) return Math.floor(burst);
  // The difference of two timestamps is exact to microseconds: a quotient slightly below a whole number is rounding noise.
  const tokens = Math.round((now - emptyAt) * 1_000) / (msPerToken * 1_000) + 1e-9;
  return Math.max(0, Math.floor(Math.min(burst, tokens)));
}

/** Largest relative change of a rate by rounding. */
const RATE_TOLERANCE = 0.001;

/**
 * Rounds to whole microseconds, so that takes from a full bucket add up to its burst; keeps the exact value if rounding would change it too
 * much.
 */
function msPerTokenOf(exactMs: number): number {
  const roundedMs = Math.round(exactMs * 1_000) / 1_000;
  return Math.abs(roundedMs - exactMs) <= exactMs * RATE_TOLERANCE ? roundedMs : exactMs;
}

/**
 * Keeps the stored number short and comparable: a double has no finer digits for current timestamps.
 * Rounds up: otherwise a take could be free, or many takes together could get more than flows in.
 * A row takes about a thousand writes a second, so one microsecond for each is at most a thousandth of the flow.
 */
function upToMicroseconds(ms: number): number {
  return Math.max(1, Math.ceil(ms * 1_000 - PRODUCT_NOISE_US)) / 1_000;
}

/** By rounding, a product of whole microseconds may be slightly above the exact whole number. */
const PRODUCT_NOISE_US = 0.001;
