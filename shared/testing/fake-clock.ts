/**
 * A clock that moves only when a test advances it.
 * It wakes sleepers in the order of their deadlines, each at its own time, and lets all consequences of one happen before the next.
 */
import { setImmediate } from 'node:timers/promises';
import type { Cancel, Clock } from '../core/runtime/clock.ts';

/** Returns after a turn of the event loop, when all consequences of the awaited call have happened. */
export const settled = (): Promise<void> => setImmediate();

interface Sleeper {
  readonly wakeAt: number;
  readonly wake: () => void;
}

/** The most turns of one wait. The longest wait of a test takes 42,000, for an hour. */
const MOST_TURNS = 100_000;

/** Stands still until it is advanced. */
export class FakeClock implements Clock {
  #now: number;
  #elapsed = 0;
  readonly #sleepers = new Set<Sleeper>();

  constructor(startsAt: Date) {
    this.#now = startsAt.getTime();
  }

  /** Whole, as clocks on walls are, whatever fractions were slept. */
  now(): number {
    return Math.floor(this.#now);
  }

  monotonic(): number {
    return this.#elapsed;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const sleeper: Sleeper = {
        wakeAt: this.#elapsed + Math.max(0, ms),
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal?.removeEventListener('abort', sleeper.wake);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', sleeper.wake, { once: true });
    });
  }

  after(ms: number, call: () => void): Cancel {
    const sleeper: Sleeper = {
      wakeAt: this.#elapsed + Math.max(0, ms),
      wake: () => {
        this.#sleepers.delete(sleeper);
        call();
      },
    };
    this.#sleepers.add(sleeper);
    return () => {
      this.#sleepers.delete(sleeper);
    };
  }

  /** Lets a span pass. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsed + ms;
    await settled();
    for (let next = this.#next(); next !== undefined && next.wakeAt <= until; next = this.#next()) {
      this.#move(next.wakeAt);
      next.wake();
      await settled();
    }
    this.#move(until);
  }

  /**
   * Lets as much time pass as the work needs: as long as it is not done, and `mayPass`, the next sleeper is woken.
   * @throws after `mostTurns` turns of the event loop in which time could pass
   */
  async runUntil<T>(work: Promise<T>, mayPass: () => boolean, mostTurns = MOST_TURNS): Promise<T> {
    const state = { isDone: false };
    const done = (): void => {
      state.isDone = true;
    };
    work.then(done, done);
    for (let turns = 0; turns < mostTurns;) {
      await settled();
      if (state.isDone) return work;
      if (!mayPass()) continue;
      turns++;
      const next = this.#next();
      if (next === undefined) continue;
      this.#move(Math.max(this.#elapsed, next.wakeAt));
      next.wake();
    }
    throw new Error(`what a test waits for is not over after ${mostTurns} turns`);
  }

  /** Sets the wall clock, as somebody does to a machine's; elapsed time and sleepers do not notice. */
  setWallClock(to: Date): void {
    this.#now = to.getTime();
  }

  #next(): Sleeper | undefined {
    return [...this.#sleepers].sort((a, b) => a.wakeAt - b.wakeAt)[0];
  }

  #move(to: number): void {
    this.#now += to - this.#elapsed;
    this.#elapsed = to;
  }
}
