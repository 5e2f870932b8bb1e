/** `TakeRate` measures how many candidates slots take while candidates stay fresh, because slots that began together come back together. */
import type { Clock } from '../../core/runtime/clock.ts';
import { FRESH_MS } from './tuning.ts';

export class TakeRate {
  readonly #clock: Clock;
  #taken = 0;
  #perFreshTime = 0;
  #measuredAtMonotonicMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#measuredAtMonotonicMs = clock.monotonic();
  }

  take(): void {
    this.#taken++;
  }

  /** Candidates that slots take in half the time in which candidates stay fresh. */
  get expected(): number {
    const elapsedMs = this.#clock.monotonic() - this.#measuredAtMonotonicMs;
    if (elapsedMs >= FRESH_MS) {
      this.#perFreshTime = (this.#taken * FRESH_MS) / elapsedMs;
      this.#taken = 0;
      this.#measuredAtMonotonicMs += elapsedMs;
    }
    return Math.round(this.#perFreshTime / 2);
  }
}
