/** A machine's wall clock: wrong by an offset, running at its own rate, sometimes stepped, and possibly stale after a freeze. */

interface WallClockOptions {
  /** Wall time of a right clock at the start of the timeline. */
  readonly epochMs: number;
  readonly offsetMs: number;
  /** How much too fast, as a fraction: 0.0001 gains a tenth of a millisecond a second. */
  readonly drift: number;
}

/** More than a process makes between reading its clock and calling a store. */
const READINGS_KEPT = 32;

export class WallClock {
  readonly #epochMs: number;
  readonly #drift: number;
  #offsetMs: number;
  /** The latest readings, in a ring. */
  readonly #shown = new Float64Array(READINGS_KEPT);
  readonly #trueMs = new Float64Array(READINGS_KEPT);
  #readings = 0;
  /** While set, the clock runs on from where it stood when its machine was frozen. */
  #stale: { readonly untilTrueMs: number; readonly behindMs: number } | undefined;

  constructor(options: WallClockOptions) {
    this.#epochMs = options.epochMs;
    this.#drift = options.drift;
    this.#offsetMs = options.offsetMs;
  }

  /** Returns the clock's reading at a true time. */
  at(trueMs: number): number {
    return Math.floor(this.#epochMs + trueMs + this.errorAt(trueMs));
  }

  /** As `at`, and remembered. */
  read(trueMs: number): number {
    const shown = this.at(trueMs);
    const index = this.#readings++ % READINGS_KEPT;
    this.#shown[index] = shown;
    this.#trueMs[index] = trueMs;
    return shown;
  }

  /** The true time of the latest reading that showed this, if it is not long past. */
  trueTimeOf(shown: number): number | undefined {
    for (let back = 1; back <= Math.min(READINGS_KEPT, this.#readings); back++) {
      const index = (this.#readings - back) % READINGS_KEPT;
      if (this.#shown[index] === shown) return this.#trueMs[index];
    }
    return undefined;
  }

  /** How far it is ahead of true time. */
  errorAt(trueMs: number): number {
    const behindMs = this.#stale !== undefined && trueMs < this.#stale.untilTrueMs ? this.#stale.behindMs : 0;
    return this.#offsetMs + this.#drift * trueMs - behindMs;
  }

  step(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Seen after a long freeze: until it is corrected, the machine shows the time at which it was frozen. */
  goStale(stale: { readonly untilTrueMs: number; readonly behindMs: number }): void {
    this.#stale = stale;
  }
}
