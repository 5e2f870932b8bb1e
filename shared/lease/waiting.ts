/**
 * Waiting until contention has passed: look, pause, look again.
 * Pauses grow, with full jitter, so that contenders who began together do not come back together; a deadline and a signal end them.
 */
import { ConfigurationError, shown } from '../errors.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { fullJitterMs } from '../runtime/random.ts';
import type { Duration } from './duration.ts';
import { durationMs } from './duration.ts';

export interface WaitOptions {
  /** How long to wait at most; absent: without end, or as long as the session lives. */
  readonly wait?: Duration | undefined;
  /** The longest pause between two looks; the first ones are shorter. */
  readonly pause?: Duration | undefined;
  /** Ends the wait by throwing its reason. */
  readonly signal?: AbortSignal | undefined;
}

export const WAIT_OPTIONS = { wait: true, pause: true, signal: true } as const satisfies Record<
  keyof WaitOptions,
  true
>;

/** @throws ConfigurationError */
export function validSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal !== undefined && !((signal as unknown) instanceof AbortSignal))
    throw new ConfigurationError(`signal = ${shown(signal)}: give an AbortSignal`);
  return signal;
}

/** A line in which the waiters of one process stand, so that only the first of them asks the store. */
export interface WaitingLine {
  /** Resolves when it is this caller's turn, or when `signal` aborts; `end` must be called either way. */
  take(key: string, signal: AbortSignal): Promise<Turn>;
  /** What is waited for has come back in this very process. */
  wake(key: string): void;
}

export interface Turn {
  /** Until the time is over, somebody wakes it, or `signal` aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  end(): void;
}

/** A waiting contender costs a read a second on average, and notices a release within two. */
const DEFAULT_PAUSE_MS = 2_000;
/** The first pause is up to a sixteenth of the longest. */
const GROWTH = 16;
/** Those who wait for one moment spread themselves over so long a time after it. */
const SPREAD_MS = 100;

export class Waiting {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #signal: AbortSignal;
  readonly #pauseMs: number;
  readonly #deadlineMonotonicMs: number;
  #turn: Turn | undefined;
  #pauses = 0;

  /** @param holder the signal of the session that waits, if one does: a lost session has nothing to wait for */
  constructor(
    options: WaitOptions,
    holder: AbortSignal | undefined,
    runtime: { readonly clock: Clock; readonly random: Random },
  ) {
    this.#clock = runtime.clock;
    this.#random = runtime.random;
    this.#signal = AbortSignal.any([holder, validSignal(options.signal)].filter((signal) => signal !== undefined));
    this.#pauseMs = options.pause === undefined ? DEFAULT_PAUSE_MS : durationMs('pause', options.pause);
    this.#deadlineMonotonicMs =
      options.wait === undefined ? Infinity : this.#clock.monotonic() + durationMs('wait', options.wait);
    this.#signal.throwIfAborted();
  }

  /** Milliseconds left; infinite without a deadline. */
  get remainingMs(): number {
    return Math.max(0, this.#deadlineMonotonicMs - this.#clock.monotonic());
  }

  /**
   * Waits in line for its turn, or until the time is over. `end` must be called.
   * @throws the reason of the signal that ended the wait
   */
  async standInLine(line: WaitingLine, key: string): Promise<void> {
    const late = new AbortController();
    const arrived = new AbortController();
    if (Number.isFinite(this.remainingMs))
      void this.#clock.sleep(this.remainingMs, arrived.signal).then(() => {
        late.abort();
      });
    this.#turn = await line.take(key, AbortSignal.any([late.signal, this.#signal]));
    arrived.abort();
    this.#signal.throwIfAborted();
  }

  /**
   * Waits for a moment.
   * @param until when something is known to change, by the wall clock: nobody sleeps past it
   * @returns false when the time is over, without having waited
   * @throws the reason of the signal that ended the wait
   */
  async pause(until: number | null = null): Promise<boolean> {
    if (this.remainingMs === 0) return false;
    this.#pauses++;
    const growing = fullJitterMs(this.#random, { baseMs: this.#pauseMs / GROWTH, capMs: this.#pauseMs }, this.#pauses);
    await this.#sleep(Math.min(growing, until === null ? Infinity : this.#msTo(until)));
    return true;
  }

  /**
   * Waits until a moment before which nothing can change.
   * @returns false when that lies beyond the deadline, without having waited
   * @throws the reason of the signal that ended the wait
   */
  async sleepUntil(moment: number): Promise<boolean> {
    if (moment - this.#clock.now() > this.remainingMs) return false;
    await this.#sleep(this.#msTo(moment));
    return true;
  }

  /** Leaves the line. */
  end(): void {
    this.#turn?.end();
  }

  #msTo(moment: number): number {
    return Math.max(0, moment - this.#clock.now()) + this.#random.next() * SPREAD_MS;
  }

  async #sleep(ms: number): Promise<void> {
    const sleeper = this.#turn ?? this.#clock;
    await sleeper.sleep(Math.max(1, Math.ceil(Math.min(ms, this.remainingMs))), this.#signal);
    this.#signal.throwIfAborted();
  }
}
