/**
 * `SoloGate` decides which tasks of one worker run concurrently.
 *
 * When a worker crashes, all its running tasks lose an attempt, although only one of them may be the cause.
 * So if a task's previous worker crashed, its last attempt is made alone. If the worker crashes again, the cause is known,
 * and no other task is marked dead because it ran in the same worker.
 *
 * While such a task waits for the running ones to end, no other task may start. So it first waits for only two seconds.
 * If it must give up, the others work for four times as long, and its next wait is twice as long. So other tasks get most of the time,
 * and if the worker lives long enough, the task eventually runs alone.
 */
import type { Clock } from '../../core/runtime/clock.ts';

const FIRST_WAIT_MS = 2_000;
/** Ratio of the time for other tasks to the wait before it. */
const BETWEEN_WAITS = 4;

export class SoloGate {
  readonly #clock: Clock;
  readonly #over: AbortSignal;
  #inside = 0;
  /** Whether a task runs alone, or waits for the others to end. */
  #closed = false;
  #waitMs = FIRST_WAIT_MS;
  #openUntilMonotonicMs = -Infinity;
  #waiting: (() => void)[] = [];

  /** @param over ends all waits, and no task enters afterwards */
  constructor(clock: Clock, over: AbortSignal) {
    this.#clock = clock;
    this.#over = over;
    over.addEventListener('abort', () => this.#changed());
  }

  /** Waits for a shared slot. Returns a function that frees the slot. */
  async enter(): Promise<() => void> {
    while (this.#closed) await this.#change();
    return this.#in(() => undefined);
  }

  /** Waits until no other task runs. Returns undefined if the others take too long; try again later. */
  async enterAlone(): Promise<(() => void) | undefined> {
    while (this.#closed) await this.#change();
    if (this.#inside > 0 && this.#clock.monotonic() < this.#openUntilMonotonicMs) return undefined;
    this.#closed = true;
    const open = (): void => void (this.#closed = false);
    const late = new AbortController();
    const cancel = this.#clock.after(this.#waitMs, () => {
      late.abort();
      this.#changed();
    });
    while (this.#inside > 0 && !late.signal.aborted && !this.#over.aborted) await this.#change();
    cancel();
    if (this.#inside === 0) {
      this.#waitMs = FIRST_WAIT_MS;
      return this.#in(open);
    }
    this.#openUntilMonotonicMs = this.#clock.monotonic() + BETWEEN_WAITS * this.#waitMs;
    this.#waitMs *= 2;
    open();
    this.#changed();
    return undefined;
  }

  #in(onLeft: () => void): () => void {
    this.#inside++;
    return () => {
      this.#inside--;
      onLeft();
      this.#changed();
    };
  }

  #changed(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
