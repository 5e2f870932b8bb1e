/**
 * `PollSchedule` decides when a worker polls although nothing tells it to.
 *
 * One rule sets the rate. A round of polls, one of each own partition, takes a sixteenth of the time between the last two finds,
 * or of the time since the last find if that is longer. The gap between two polls is at least 50 ms.
 * It is at most `pollMs`, or `idlePollMs` after a minute without a find.
 * So a worker that is fed all the time polls at one rate, and a worker without tasks polls ever more seldom.
 *
 * Guarantees
 *   - Each own partition of a named lane has a poll within a heartbeat, however many partitions there are.
 *   - Lanes that the queue's row does not name have a poll within two minutes, or four if a dispatcher polls them as well.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { Random } from '../../core/runtime/random.ts';
import {
  DISTINCT_FIND_MS,
  IDLE_AFTER_MS,
  MIN_POLL_GAP_MS,
  ROUNDS_PER_FIND,
  START_BURST_MS,
  START_GAP_MS,
  UNUSED_LANES_MS,
} from './tuning.ts';

export interface PollRates {
  /** Maximum gap between two polls. */
  readonly pollMs: number;
  /** The same after a minute without a find. Default: `pollMs`. */
  readonly idlePollMs?: number | undefined;
  /** Renewal interval of workers' sessions. */
  readonly heartbeatMs: number;
  /**
   * Whether the worker exits when nothing is due. Such a worker begins at its slowest rate, because it has just been started for what
   * is due.
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
  readonly #hurriesUntilMonotonicMs: number;
  /** Until then, sources that have more go before the schedule. */
  #spentUntilMonotonicMs = -Infinity;

  constructor(rates: PollRates, { clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#rates = rates;
    this.#clock = clock;
    this.#random = random;
    const now = clock.monotonic();
    this.#nextAtMonotonicMs = now;
    this.#unusedAtMonotonicMs = now;
    this.#foundAtMonotonicMs = now;
    this.#intervalMs = rates.exitsWhenEmpty ? Infinity : 0;
    this.#hurriesUntilMonotonicMs = rates.exitsWhenEmpty ? now + START_BURST_MS : now;
  }

  get isDue(): boolean {
    return this.#nextAtMonotonicMs <= this.#clock.monotonic();
  }

  /** Whether the polls of the schedule have left enough time to sources that have more. */
  get isAffordable(): boolean {
    return this.#spentUntilMonotonicMs <= this.#clock.monotonic();
  }

  /** A poll of the schedule took this long: others may take twice that. */
  spent(elapsedMs: number): void {
    this.#spentUntilMonotonicMs = this.#clock.monotonic() + 2 * elapsedMs;
  }

  /** Until the next poll. */
  get restMs(): number {
    return Math.max(0, this.#nextAtMonotonicMs - this.#clock.monotonic());
  }

  /** A poll of the schedule begins. @param sources own partitions of named lanes */
  begin(sources: number): void {
    this.#nextAtMonotonicMs = this.#clock.monotonic() + jittered(this.#gapMs(sources), this.#random);
  }

  /** Whether a poll of a lane that is not named is due; if so, the next one follows later. */
  beginUnused(partitions: number, isNoted: boolean): boolean {
    const now = this.#clock.monotonic();
    if (partitions === 0 || now < this.#unusedAtMonotonicMs) return false;
    const roundMs = isNoted ? 2 * UNUSED_LANES_MS : UNUSED_LANES_MS;
    this.#unusedAtMonotonicMs = now + jittered(roundMs / partitions, this.#random);
    return true;
  }

  /** A poll found something to try. @param isFirst nothing has ended here yet: it says nothing about when tasks come */
  found(sources: number, isFirst: boolean): void {
    const now = this.#clock.monotonic();
    const sinceMs = now - this.#foundAtMonotonicMs;
    if (this.#rates.exitsWhenEmpty && !isFirst && sinceMs >= DISTINCT_FIND_MS) this.#intervalMs = sinceMs;
    this.#foundAtMonotonicMs = now;
    this.#nextAtMonotonicMs = Math.min(this.#nextAtMonotonicMs, now + this.#gapMs(sources));
  }

  /** Tasks may be there that no poll has shown yet. */
  hurry(): void {
    const now = this.#clock.monotonic();
    this.#foundAtMonotonicMs = now;
    this.#nextAtMonotonicMs = Math.min(this.#nextAtMonotonicMs, now + MIN_POLL_GAP_MS);
  }

  #gapMs(sources: number): number {
    const { pollMs, idlePollMs = pollMs, heartbeatMs } = this.#rates;
    const now = this.#clock.monotonic();
    if (now < this.#hurriesUntilMonotonicMs) return START_GAP_MS;
    const sinceMs = now - this.#foundAtMonotonicMs;
    const betweenFindsMs = Math.max(this.#intervalMs, sinceMs);
    const mostMs = Math.min(sinceMs < IDLE_AFTER_MS ? pollMs : idlePollMs, heartbeatMs / Math.max(1, sources));
    return Math.min(mostMs, Math.max(MIN_POLL_GAP_MS, betweenFindsMs / (ROUNDS_PER_FIND * Math.max(1, sources))));
  }
}

/** A quarter sooner or later, so that workers that began together do not poll together. */
export function jittered(ms: number, random: Random): number {
  return ms * (1 + (random.next() - 1 / 2) / 2);
}
