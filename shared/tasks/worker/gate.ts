/**
 * A worker's copy of its queue's row: whether the queue is open, its used lanes and number of shards,
 * and which tasks a waker has announced.
 * Read before every claim and answered from memory,
 * so that it costs a worker half a read unit every few seconds, and a change takes as long
 * to be noticed. Nothing depends on its accuracy: a pause is an operator's wish, not a lock; for lanes and shards see `lane.ts`.
 * While announcements come steadily, a worker with free capacity polls the row more often: see `tasks/task/announcement.ts`.
 */
import type { Runtime } from '../../core/runtime/runtime.ts';
import { glanceEveryMs, newsIn } from '../task/announcement.ts';
import type { Announcement, QueueRecord, QueueStore } from '../task/queue-store.ts';

const FRESH_MS = 5_000;

interface GatePorts {
  /** Without it the queue is always open, any of its lanes may be in use, and no tasks are announced. */
  readonly queues?: QueueStore | undefined;
  readonly runtime: Runtime;
  /** How long an idle worker stays. A worker that stays forever is woken by its caller, or relies on its normal polls alone. */
  readonly lingerMs: number;
  /** Receives the ids of newly announced tasks from a poll. */
  readonly onAnnounced: (ids: readonly string[]) => void;
}

export class QueueGate {
  readonly #queue: string;
  readonly #ports: GatePorts;
  #record: QueueRecord | undefined;
  /** The last announcement that a poll has reported. */
  #heard: Announcement | undefined;
  #asking: Promise<boolean> | undefined;
  #staleAtMonotonicMs = 0;

  constructor(queue: string, ports: GatePorts) {
    this.#queue = queue;
    this.#ports = ports;
  }

  isOpen(): Promise<boolean> {
    const now = this.#ports.runtime.clock.monotonic();
    if (this.#asking === undefined || now >= this.#staleAtMonotonicMs) {
      this.#staleAtMonotonicMs = now + FRESH_MS;
      this.#asking = this.#ask();
    }
    return this.#asking;
  }

  /** Lanes in the last response; undefined: any. */
  get lanes(): ReadonlySet<string> | undefined {
    return this.#record?.lanes;
  }

  /** Number of shards in the last response; undefined: never recorded. */
  get shards(): number | undefined {
    return this.#record?.shards;
  }

  /** The last response. */
  get record(): QueueRecord | undefined {
    return this.#record;
  }

  /** Pause before the next announcement poll of a worker with free capacity, jittered; `Infinity`: it need not poll. */
  get glanceMs(): number {
    const { runtime, queues, lingerMs } = this.#ports;
    const { clock, random } = runtime;
    const listens = queues !== undefined && lingerMs > 0 && lingerMs < Infinity;
    const everyMs = glanceEveryMs(this.#record?.announced, clock.now(), listens);
    return everyMs === undefined ? Infinity : everyMs * (0.75 + 0.5 * random.next());
  }

  /**
   * Polls for announcements. Only a worker with free capacity reports them: a busy one first takes the tasks that have waited longest.
   * A failed poll is ignored, because the next one and `isOpen` read the row again.
   */
  async glance(): Promise<void> {
    const { clock } = this.#ports.runtime;
    const staleAt = clock.monotonic() + FRESH_MS;
    try {
      const isOpen = await this.#ask();
      this.#asking = Promise.resolve(isOpen);
      this.#staleAtMonotonicMs = staleAt;
      const announced = this.#record?.announced;
      if (announced === undefined || !isOpen) return;
      const news = newsIn(announced, this.#heard, clock.now());
      this.#heard = announced;
      if (news.length > 0) this.#ports.onAnnounced(news);
    } catch {
      // `isOpen` asks again, and reports the error to its caller.
    }
  }

  async #ask(): Promise<boolean> {
    this.#record = await this.#ports.queues?.glance(this.#queue);
    return this.#record?.isPaused !== true;
  }
}
