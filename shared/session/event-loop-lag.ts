/**
 * Notices a heartbeat that is late because the event loop was blocked by a long computation. Such a worker is alive and still loses its
 * session, so it should learn the cause.
 *
 * A late timer distinguishes this from a store that does not answer.
 * Clock: monotonic, which stops while a machine is suspended.
 */
import type { Clock } from '../core/runtime/clock.ts';

export class EventLoopLag {
  readonly #clock: Clock;
  readonly #toleratedMs: number;
  /** When the running timer should fire; Infinity without one. */
  #dueAt = Infinity;
  /** The longest since the last renewal. */
  #longestMs = 0;
  #isTold = false;

  /** @param heartbeatMs half of it is tolerated */
  constructor(clock: Clock, heartbeatMs: number) {
    this.#clock = clock;
    this.#toleratedMs = heartbeatMs / 2;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    this.#dueAt = this.#clock.monotonic() + ms;
    await this.#clock.sleep(ms, signal);
    this.#longestMs = this.#lateMs();
    this.#dueAt = Infinity;
  }

  /** By how much a heartbeat is too late, once for each that is; also before its timer has run. */
  next(): number | undefined {
    const lateMs = this.#lateMs();
    if (lateMs <= this.#toleratedMs || this.#isTold) return undefined;
    this.#isTold = true;
    return lateMs;
  }

  /** A renewal was confirmed, so earlier delays no longer affect trust. */
  forget(): void {
    this.#longestMs = 0;
    this.#isTold = false;
  }

  /** Why no renewal was sent, for the message of a loss; empty when lateness was not the reason. */
  explanation(): string {
    const lateMs = this.#lateMs();
    return lateMs > this.#toleratedMs ? `; ${describeBlock(lateMs)}` : '';
  }

  #lateMs(): number {
    return Math.max(this.#longestMs, this.#clock.monotonic() - this.#dueAt);
  }
}

/** @param lateMs a lower bound: the timer was due while nothing ran */
export function describeBlock(lateMs: number): string {
  return (
    `its event loop was blocked, or its process stopped, for ${Math.round(lateMs / 1_000)} s at least: ` +
    'let code that computes for long pause (await setImmediate), or run it in a worker thread or a process of its own'
  );
}
