/**
 * `TakeRate` measures how many candidates the slots take while a candidate is fresh.
 * Slots that start together often finish together, and then need several candidates at once.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import { FRESH_MS, MIN_POLL_GAP_MS } from './tuning.ts';

export class TakeRate {
  readonly #clock: Clock;
  #taken = 0;
  #perMs = 0;
  #sinceMonotonicMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMonotonicMs = clock.monotonic();
  }

  take(): void {
    this.#taken++;
  }

  /** The number of candidates that slots take in half the time for which a candidate is fresh. */
  get expected(): number {
    const elapsedMs = this.#clock.monotonic() - this.#sinceMonotonicMs;
    // A new worker need not wait for a whole span.
    if (elapsedMs >= FRESH_MS || (this.#perMs === 0 && elapsedMs >= MIN_POLL_GAP_MS)) {
      this.#perMs = this.#taken / elapsedMs;
      this.#taken = 0;
      this.#sinceMonotonicMs += elapsedMs;
    }
    return Math.round((this.#perMs * FRESH_MS) / 2);
  }
}
