/** `TakeRate` measures how many candidates slots take while candidates stay fresh, because slots that began together come back together. */
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

  /** Candidates that slots take in half the time in which candidates stay fresh. */
  get expected(): number {
    const elapsedMs = this.#clock.monotonic() - this.#sinceMonotonicMs;
    // A worker that has just begun need not wait for a whole span.
    if (elapsedMs >= FRESH_MS || (this.#perMs === 0 && elapsedMs >= MIN_POLL_GAP_MS)) {
      this.#perMs = this.#taken / elapsedMs;
      this.#taken = 0;
      this.#sinceMonotonicMs += elapsedMs;
    }
    return Math.round((this.#perMs * FRESH_MS) / 2);
  }
}
