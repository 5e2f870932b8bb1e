/**
 * A worker's copy of its queue's row: whether the queue is open, its paused tenants, its used lanes and its number of shards.
 * The worker checks the copy before every claim, and refreshes it every few seconds, at half a read unit.
 * So a change takes a few seconds to be noticed. Correctness does not depend on it: a pause is not a lock,
 * and `lane.ts` explains lanes and shards.
 *
 * While tasks come one by one, wakers note each in the row, because the index may lag. Then the worker reads the row several times a
 * second.
 */
import { CorruptItemError, StoreUnavailableError } from '../../core/errors.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { QueueRecord, QueueStore } from '../task/queue-store.ts';
import { COMES_AGAIN_MS, isPausedTenant } from '../task/queue-store.ts';

export const FRESH_MS = 5_000;
/** Set by `bench fanout --scene "one a second"`. */
const HEARING_MS = 200;

export interface GatePorts {
  /** Absent: the queue is always open, and any of its lanes may be in use. */
  readonly queues?: QueueStore | undefined;
  readonly runtime: { readonly clock: Clock };
  /** Receives the tasks that wakers have noted. Absent: the worker has another way to hear of them. */
  readonly onNoted?: ((ids: readonly string[]) => void) | undefined;
}

export class QueueStateCache {
  readonly #queue: string;
  readonly #ports: GatePorts;
  #record: QueueRecord | undefined;
  #asking: Promise<boolean> | undefined;
  #staleAtMonotonicMs = 0;
  /** Whether tasks come one by one. */
  #hears: boolean;
  #noted: readonly string[] = [];
  #hearingMore: Promise<boolean> | undefined;

  /** @param stays whether the worker was started because tasks come one by one */
  constructor(queue: string, ports: GatePorts, stays = false) {
    this.#queue = queue;
    this.#ports = ports;
    this.#hears = stays && ports.onNoted !== undefined;
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

  /** How long a slot may rest, or a task that was noted would wait. */
  get restMs(): number {
    return this.#hears ? HEARING_MS : Infinity;
  }

  /** Reads the row once more before the worker leaves, for all slots. @returns whether another task was noted */
  hearsMore(): Promise<boolean> {
    if (!this.#hears) return Promise.resolve(false);
    this.#hearingMore ??= this.#hearMore().finally(() => {
      this.#hearingMore = undefined;
    });
    return this.#hearingMore;
  }

  async #hearMore(): Promise<boolean> {
    const before = new Set(this.#noted);
    try {
      await this.#ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError || error instanceof CorruptItemError)) throw error;
      return false;
    }
    return this.#noted.some((id) => !before.has(id));
  }

  async #ask(): Promise<boolean> {
    const { queues, runtime, onNoted } = this.#ports;
    const { clock } = runtime;
    const askedAt = clock.monotonic();
    this.#record = await queues?.glance(this.#queue);
    if (onNoted === undefined) return this.#record?.isPaused !== true;
    const { heard = [] } = this.#record?.starts ?? {};
    const before = new Set(this.#noted);
    this.#noted = heard.flatMap(({ ids }) => ids);
    const isRecent = heard.some(({ at }) => at > clock.now() - COMES_AGAIN_MS);
    this.#hears = isRecent && (this.#hears || heard.length > 1);
    if (this.#hears) this.#staleAtMonotonicMs = askedAt + HEARING_MS;
    const fresh = this.#noted.filter((id) => !before.has(id));
    if (this.#hears && fresh.length > 0) onNoted(fresh);
    return this.#record?.isPaused !== true;
  }
}
