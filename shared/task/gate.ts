/**
 * Whether a queue is open, as one worker knows it.
 * Asked before every claim and answered from memory, so that a pause costs a worker one read every few seconds, and takes as long to be noticed.
 * Nothing depends on its being exact: a pause is a wish of operators, not a lock.
 */
import type { Clock } from '../runtime/clock.ts';
import type { QueueStore } from './queue-store.ts';

const FRESH_MS = 5_000;

export class QueueGate {
  readonly #queue: string;
  readonly #queues: QueueStore | undefined;
  readonly #clock: Clock;
  #asking: Promise<boolean> | undefined;
  #staleAtMonotonicMs = 0;

  /** @param queues absent: the queue is always open */
  constructor(queue: string, queues: QueueStore | undefined, clock: Clock) {
    this.#queue = queue;
    this.#queues = queues;
    this.#clock = clock;
  }

  isOpen(): Promise<boolean> {
    const now = this.#clock.monotonic();
    if (this.#asking === undefined || now >= this.#staleAtMonotonicMs) {
      this.#staleAtMonotonicMs = now + FRESH_MS;
      this.#asking = this.#ask();
    }
    return this.#asking;
  }

  async #ask(): Promise<boolean> {
    const record = await this.#queues?.get(this.#queue);
    return record?.isPaused !== true;
  }
}
