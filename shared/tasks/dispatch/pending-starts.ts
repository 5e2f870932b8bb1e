/**
 * `PendingStarts` are the workers that a waker has started and that hold no permit yet.
 *
 * A start shows when the permits' counter moves. One that does not show within two seconds may have failed, or its function may load for
 * longer. So the waker starts others, and gives these twice the time, up to 10 s: a function that takes 9 s to load gets three starts
 * and not one each second.
 */

/** A cold start, and two requests. */
const SHOWS_WITHIN_MS = 2_000;
const SHOWS_AT_LAST_MS = 10_000;

export class PendingStarts {
  #count = 0;
  /** The permits' last token before these starts. */
  #token = 0;
  #untilMs = -Infinity;
  #waitMs = SHOWS_WITHIN_MS;

  /** @param token the permits' last one, zero without any */
  count(token: number, now: number): number {
    const shown = token - this.#token;
    if (shown > 0) this.#waitMs = SHOWS_WITHIN_MS;
    return now < this.#untilMs ? Math.max(0, this.#count - shown) : 0;
  }

  /** @param starts how many are started now, in addition to the pending ones */
  begin(starts: number, token: number, now: number): void {
    const pending = this.count(token, now);
    const hasFailed = this.#count > 0 && now >= this.#untilMs && token <= this.#token;
    if (hasFailed) this.#waitMs = Math.min(SHOWS_AT_LAST_MS, 2 * this.#waitMs);
    this.#count = pending + starts;
    this.#token = token;
    this.#untilMs = now + this.#waitMs;
  }
}
