/**
 * Turns: the waiters of one process for one key, first come, first served.
 *
 * Only the first of them asks the store; the others wait for their turn, for what he hears is true for them as well.
 * A release within the process wakes him at once. So a crowd in one process costs what a single waiter costs.
 */
import type { Clock } from '../runtime/clock.ts';
import { LONGEST_TIMER_MS } from '../runtime/clock.ts';

interface Queue {
  /** The one in front has the turn. */
  readonly waiting: Turn[];
}

export class Turns {
  readonly #clock: Clock;
  readonly #queues = new Map<string, Queue>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when it is this caller's turn, or when `signal` aborts; `end` must be called either way. */
  async take(key: string, signal: AbortSignal): Promise<Turn> {
    const queue = this.#queues.get(key) ?? { waiting: [] };
    this.#queues.set(key, queue);
    const turn = new Turn(this.#clock, () => {
      this.#leave(key, queue, turn);
    });
    queue.waiting.push(turn);
    // It sleeps for ever, until whoever is in front of it has ended.
    if (queue.waiting[0] !== turn) await turn.sleep(LONGEST_TIMER_MS, signal);
    return turn;
  }

  /** A key was released in this process. */
  wake(key: string): void {
    this.#queues.get(key)?.waiting[0]?.wake();
  }

  #leave(key: string, queue: Queue, turn: Turn): void {
    const wasFirst = queue.waiting[0] === turn;
    queue.waiting.splice(queue.waiting.indexOf(turn), 1);
    if (queue.waiting.length === 0) this.#queues.delete(key);
    else if (wasFirst) queue.waiting[0]?.wake();
  }
}

export class Turn {
  readonly #clock: Clock;
  readonly #leave: () => void;
  #alarm = new AbortController();

  constructor(clock: Clock, leave: () => void) {
    this.#clock = clock;
    this.#leave = leave;
  }

  /** Until the time is over, a release within the process wakes it, or `signal` aborts. */
  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, AbortSignal.any([this.#alarm.signal, signal]));
    if (this.#alarm.signal.aborted) this.#alarm = new AbortController();
  }

  wake(): void {
    this.#alarm.abort();
  }

  end(): void {
    this.#leave();
  }
}
