/**
 * A clock that stands still until a test moves it.
 * Moving it wakes sleepers in the order of their deadlines, each at its own time, and lets everything that follows from one finish before the next.
 */
import { setImmediate as drained } from 'node:timers/promises';
import type { Clock } from '../../shared/runtime/clock.ts';

interface Sleeper {
  readonly wakeAt: number;
  readonly wake: () => void;
}

export class ManualClock implements Clock {
  #wall: number;
  #elapsed = 0;
  readonly #sleepers = new Set<Sleeper>();

  constructor(startsAt: string) {
    this.#wall = Date.parse(startsAt);
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const sleeper = { wakeAt: this.#elapsed + Math.max(0, ms), wake: resolve };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', () => {
        this.#sleepers.delete(sleeper);
        resolve();
      });
    });
  }

  async advance(ms: number): Promise<void> {
    const until = this.#elapsed + ms;
    await drained();
    while (true) {
      const next = [...this.#sleepers].sort((a, b) => a.wakeAt - b.wakeAt)[0];
      if (next === undefined || next.wakeAt > until) break;
      this.#sleepers.delete(next);
      this.#move(next.wakeAt);
      next.wake();
      await drained();
    }
    this.#move(until);
  }

  /** The wall clock steps, as after a correction or a suspended machine; no time passes. */
  step(ms: number): void {
    this.#wall += ms;
  }

  #move(to: number): void {
    this.#wall += to - this.#elapsed;
    this.#elapsed = to;
  }
}
