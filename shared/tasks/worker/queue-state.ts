/**
 * A worker's copy of its queue's row: whether the queue is open, its paused tenants, its used lanes and its number of shards.
 * The worker checks the copy before every claim, and refreshes it every few seconds, at half a read unit.
 * So a change takes a few seconds to be noticed. Correctness does not depend on it: a pause is not a lock,
 * and `lane.ts` explains lanes and shards.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { QueueRecord, QueueStore } from '../task/queue-store.ts';
import { isPausedTenant } from '../task/queue-store.ts';

export const FRESH_MS = 5_000;

export interface GatePorts {
  /** Absent: the queue is always open, and any of its lanes may be in use. */
  readonly queues?: QueueStore | undefined;
  readonly runtime: { readonly clock: Clock };
}

export class QueueStateCache {
  readonly #queue: string;
  readonly #ports: GatePorts;
  #record: QueueRecord | undefined;
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

  /** Whether the last response has paused the tenant. */
  isPaused(tenant: string | undefined): boolean {
    return isPausedTenant(this.#record, tenant);
  }

  /** The last response. */
  get record(): QueueRecord | undefined {
    return this.#record;
  }

  async #ask(): Promise<boolean> {
    this.#record = await this.#ports.queues?.glance(this.#queue);
    return this.#record?.isPaused !== true;
  }
}
