/**
 * `PollSchedule` decides when a worker polls without a signal that there is work.
 *
 * One rule sets the rate. A round of polls, one of each own partition, takes a sixteenth of the time between the last two finds,
 * or of the time since the last find if that is longer. The gap between two polls is at least 50 ms.
 * It is at most `pollMs`, or `idlePollMs` after a minute without a find.
 * So a worker with a steady supply of tasks polls at a constant rate, and a worker without tasks polls less and less often.
 *
 * Guarantees
 *   - Each own partition of a named lane is polled within a heartbeat, for any number of partitions.
 *   - Lanes that the queue's row does not name are polled within two minutes, or within four if a dispatcher polls them as well.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { Random } from '../../core/runtime/random.ts';
import { DISTINCT_FIND_MS, IDLE_AFTER_MS, MIN_POLL_GAP_MS, ROUNDS_PER_FIND, UNUSED_LANES_MS } from './tuning.ts';

export interface PollRates {
  /** Maximum gap between two polls. */
  readonly pollMs: number;
  /** The same after a minute without a find. Default: `pollMs`. */
  readonly idlePollMs?: number | undefined;
  /** Renewal interval of workers' sessions. */
  readonly heartbeatMs: number;
  /**
   * Whether the worker exits when nothing is due. Such a worker starts at its slowest rate, because it was just started for the tasks that
   * are due.
   */
  readonly exitsWhenEmpty: boolean;
}

export class PollSchedule {
  readonly #rates: PollRates;
  readonly #clock: Clock;
  readonly #random: Random;
  #nextAtMonotonicMs: number;
  #unusedAtMonotonicMs: number;
  #foundAtMonotonicMs: number;
  /** Time between the last two finds. */
  #intervalMs: number;

  constructor(rates: PollRates, { clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#rates = rates;
    this.#clock = clock;
    this.#random = random;
    const now = clock.monotonic();
    this.#nextAtMonotonicMs = now;
    this.#unusedAtMonotonicMs = now;
    this.#foundAtMonotonicMs = now;
    this.#intervalMs = rates.exitsWhenEmpty ? Infinity : 0;
  }

  get isDue(): boolean {
    return this.#nextAtMonotonicMs <= this.#clock.monotonic();
  }

  /** Time of the next scheduled poll. */
  get dueAtMonotonicMs(): number {
    return this.#nextAtMonotonicMs;
  }

  /** Until the next poll. */
  get restMs(): number {
    return Math.max(0, this.#nextAtMonotonicMs - this.#clock.monotonic());
  }

  /** Notes the start of a scheduled poll. @param sources own partitions of named lanes */
  begin(sources: number): void {
    this.#nextAtMonotonicMs = this.#clock.monotonic() + jittered(this.#gapMs(sources), this.#random);
  }

  /** Whether to poll a lane that is not named now. If so, this sets the time of the next such poll. */
  beginUnused(partitions: number, isNoted: boolean): boolean {
    const now = this.#clock.monotonic();
    if (partitions === 0 || now < this.#unusedAtMonotonicMs) return false;
    const roundMs = isNoted ? 2 * UNUSED_LANES_MS : UNUSED_LANES_MS;
    this.#unusedAtMonotonicMs = now + jittered(roundMs / partitions, this.#random);
    return true;
  }

  /**
   * Notes that a poll found something to try. @param isFirst no task has ended here yet, so this find does not show how often tasks arrive
   */
  found(sources: number, isFirst: boolean): void {
    const now = this.#clock.monotonic();
    const sinceMs = now - this.#foundAtMonotonicMs;
    if (this.#rates.exitsWhenEmpty && !isFirst && sinceMs >= DISTINCT_FIND_MS) this.#intervalMs = sinceMs;
    this.#foundAtMonotonicMs = now;
    this.#nextAtMonotonicMs = Math.min(this.#nextAtMonotonicMs, now + this.#gapMs(sources));
  }

  #gapMs(sources: number): number {
    const { pollMs, idlePollMs = pollMs, heartbeatMs } = this.#rates;
    const now = this.#clock.monotonic();
    const sinceMs = now - this.#foundAtMonotonicMs;
    const betweenFindsMs = Math.max(this.#intervalMs, sinceMs);
    const mostMs = Math.min(sinceMs < IDLE_AFTER_MS ? pollMs : idlePollMs, heartbeatMs / Math.max(1, sources));
    return Math.min(mostMs, Math.max(MIN_POLL_GAP_MS, betweenFindsMs / (ROUNDS_PER_FIND * Math.max(1, sources))));
  }
}

/** Up to a quarter earlier or later, so that workers that started together do not poll together. */
export function jittered(ms: number, random: Random): number {
  return ms * (1 + (random.next() - 1 / 2) / 2);
}
