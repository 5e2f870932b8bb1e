/**
 * Notices a heartbeat that is late because a long computation blocked the event loop. Such a worker is live but still loses its
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
  /** The longest delay since the last renewal. */
  #longestMs = 0;
  #isTold = false;
  /** The longest delay since `take`. */
  #untakenMs = 0;

  /** @param heartbeatMs half of it is tolerated */
  constructor(clock: Clock, heartbeatMs: number) {
    this.#clock = clock;
    this.#toleratedMs = heartbeatMs / 2;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    this.#dueAt = this.#clock.monotonic() + ms;
    await this.#clock.sleep(ms, signal);
    this.#longestMs = this.#lateMs();
    this.#untakenMs = Math.max(this.#untakenMs, this.#longestMs);
    this.#dueAt = Infinity;
  }

  /** Returns the longest delay since the last call. */
  take(): number {
    const lateMs = Math.max(this.#untakenMs, this.#clock.monotonic() - this.#dueAt);
    this.#untakenMs = 0;
    return lateMs;
  }

  /** Returns by how much a heartbeat is late, once for each late heartbeat. Also works before its timer has run. */
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

  /** Why no renewal was sent, for the message of a lost session. Empty if no heartbeat was late. */
  explanation(): string {
    const lateMs = this.standstillMs();
    return lateMs === undefined ? '' : `; ${describeBlock(lateMs)}`;
  }

  /** Returns by how much the heartbeat is late since the last renewal; undefined if that is tolerated. */
  standstillMs(): number | undefined {
    const lateMs = this.#lateMs();
    return lateMs > this.#toleratedMs ? lateMs : undefined;
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
