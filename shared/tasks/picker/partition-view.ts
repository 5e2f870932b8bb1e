/**
 * One partition of the backlog as one worker knows it: entries that it has read ahead there, and when it is worth looking again.
 *
 * A page of entries is read at once and handed out in parts,
 * because an entry costs a fiftieth of a read unit by the page and a whole request
 * by itself. Entries are hints, so keeping them for a while costs nothing but the reading of rows that others have taken meanwhile:
 * a worker that finds that they have says so, and the page is let go.
 *
 * A look at an empty partition costs as much as one at fifty tasks. So a partition in which nothing was found is left to rest,
 * for twice as long each time up to a bound, and with jitter, so that workers that began together do not come together.
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
 * Reads the next entries worth reading, in the order in which they are to be tried.
 * Without any, `isRound` says whether there are none at all.
 */
export type ReadEntries = (
  query: Required<Omit<WalkQuery, 'quantum' | 'onDamaged'>>,
) => Promise<{ readonly hints: readonly ReadyHint[]; readonly isRound: boolean }>;

/** What became due meanwhile stands behind most of a page anyway; what does not is seen after this long at the latest. */
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

  /** Whether the next entries may be had without a request. */
  get isAhead(): boolean {
    return this.#ahead.length > 0 && this.#clock.monotonic() < this.#aheadUntilMonotonicMs;
  }

  /** Whether, besides, something was found here when it was looked at last. */
  get isGiving(): boolean {
    return this.isAhead && this.#restMs === 0;
  }

  /** Whether nothing was found here when it was looked at last. */
  get isDoubtful(): boolean {
    return this.#restMs > 0;
  }

  /** Whether the last look, if it found nothing, has seen the whole partition. */
  get isRound(): boolean {
    return this.#isRound;
  }

  /** When it was read last. Before anything else: never. */
  get lookedAtMonotonicMs(): number {
    return this.#lookedAtMonotonicMs;
  }

  /** The next entries worth reading, at most as many as wanted. */
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

  /** Others have taken what was read ahead. */
  letGo(): void {
    this.#ahead = [];
  }

  /** Something was found here. */
  wake(): void {
    this.#restMs = 0;
    this.#restsUntilMonotonicMs = 0;
  }

  /** Nothing was found here. */
  rest({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }, random: Random): void {
    this.#restMs = Math.min(toMs, Math.max(fromMs, 2 * this.#restMs));
    this.#restsUntilMonotonicMs = this.#clock.monotonic() + this.#restMs * (0.5 + 0.5 * random.next());
  }
}
