/**
 * What one worker knows of its queue's row: whether the queue is open, and which of its lanes and how many of its shards are in use.
 * Asked before every claim and answered from memory,
 * so that it costs a worker half a read unit every few seconds, and a change takes as long
 * to be noticed. Nothing depends on its being exact: a pause is a wish of operators, not a lock; and for lanes and shards see `lane.ts`.
 */
import type { Clock } from '../runtime/clock.ts';
import type { QueueRecord, QueueStore } from '../task/queue-store.ts';

const FRESH_MS = 5_000;

export class QueueGate {
  readonly #queue: string;
  readonly #queues: QueueStore | undefined;
  readonly #clock: Clock;
  #record: QueueRecord | undefined;
  #asking: Promise<boolean> | undefined;
  #staleAtMonotonicMs = 0;

  /** @param queues absent: the queue is always open, and any of its lanes may be in use */
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

  /** Lanes in the last answer; undefined: any. */
  get lanes(): ReadonlySet<string> | undefined {
    return this.#record?.lanes;
  }

  /** Shards in the last answer; undefined: the number was never written down. */
  get shards(): number | undefined {
    return this.#record?.shards;
  }

  async #ask(): Promise<boolean> {
    this.#record = await this.#queues?.glance(this.#queue);
    return this.#record?.isPaused !== true;
  }
}
