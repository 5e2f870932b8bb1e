/**
 * One partition of the backlog as one worker knows it: entries that it has read ahead, and when to poll again.
 *
 * A page of entries is read at once and handed out in parts, because an entry costs a fiftieth of a read unit as part of a page,
 * and a whole request by itself. Entries are hints, so keeping them for a while only costs reads of rows that other workers
 * have taken since. A worker that notices such rows reports it, and the page is dropped.
 *
 * Polling an empty partition costs as much as reading fifty tasks. So a partition without a find rests,
 * twice as long each time up to a bound, and with jitter, so that workers that began together do not poll together.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { Lane } from '../task/lane.ts';
import type { ReadyHint } from '../task/task-store.ts';
import type { WalkQuery } from '../task/tenants.ts';

export interface PartitionPlace {
  readonly shard: number;
  readonly lane: Lane;
}

/**
 * Reads the next entries worth reading, in the order in which to try them.
 * If there are none, `isRound` tells whether the whole partition has been read.
 */
export type ReadEntries = (
  query: Required<Omit<WalkQuery, 'quantum' | 'onDamaged'>>,
) => Promise<{ readonly hints: readonly ReadyHint[]; readonly isRound: boolean }>;

/** Tasks that become due after the read are mostly behind the page anyway. Any others are seen after at most this long. */
const AHEAD_MS = 30_000;

export class PartitionView {
  readonly shard: number;
  readonly lane: Lane;
  readonly #read: ReadEntries;
  readonly #clock: Clock;
  #ahead: readonly ReadyHint[] = [];
  #aheadUntilMonotonicMs = 0;
  #lookedAtMonotonicMs = Number.MIN_SAFE_INTEGER;
  #restsUntilMonotonicMs = 0;
  #restMs = 0;
  #isRound = false;

  constructor({ shard, lane }: PartitionPlace, read: ReadEntries, clock: Clock) {
    this.shard = shard;
    this.lane = lane;
    this.#read = read;
    this.#clock = clock;
  }

  get isResting(): boolean {
    return this.#clock.monotonic() < this.#restsUntilMonotonicMs;
  }

  /** Whether the next entries are available without a request. */
  get isAhead(): boolean {
    return this.#ahead.length > 0 && this.#clock.monotonic() < this.#aheadUntilMonotonicMs;
  }

  /** Whether entries have been read ahead and the last poll has found a task. */
  get isGiving(): boolean {
    return this.isAhead && this.#restMs === 0;
  }

  /** Whether the last poll has found nothing here. */
  get isDoubtful(): boolean {
    return this.#restMs > 0;
  }

  /** Whether the last poll, if it found nothing, has read the whole partition. */
  get isRound(): boolean {
    return this.#isRound;
  }

  /** Time of the last poll. Before the first poll, less than any other time. */
  get lookedAtMonotonicMs(): number {
    return this.#lookedAtMonotonicMs;
  }

  /** Returns the next entries worth reading, at most as many as wanted. */
  async next(query: Parameters<ReadEntries>[0]): Promise<readonly ReadyHint[]> {
    this.#ahead = this.isAhead ? this.#ahead.filter(query.isWorthReading) : [];
    if (this.#ahead.length === 0) {
      this.#lookedAtMonotonicMs = this.#clock.monotonic();
      const { hints, isRound } = await this.#read(query);
      this.#ahead = hints;
      this.#isRound = isRound;
      this.#aheadUntilMonotonicMs = this.#clock.monotonic() + AHEAD_MS;
    }
    const hints = this.#ahead.slice(0, query.wanted);
    this.#ahead = this.#ahead.slice(query.wanted);
    return hints;
  }

  /** Drops the entries read ahead, because other workers have taken them. */
  letGo(): void {
    this.#ahead = [];
  }

  /** A task was found here. */
  wake(): void {
    this.#restMs = 0;
    this.#restsUntilMonotonicMs = 0;
  }

  /** The poll has found nothing here. */
  rest({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }, random: Random): void {
    this.#restMs = Math.min(toMs, Math.max(fromMs, 2 * this.#restMs));
    this.#restsUntilMonotonicMs = this.#clock.monotonic() + this.#restMs * (0.5 + 0.5 * random.next());
  }
}
