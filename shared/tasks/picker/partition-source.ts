/**
 * `PartitionSource` is one partition of the ready index as one worker knows it.
 *
 * A page of entries is read at once and used up in parts, because an entry costs a fiftieth of a read unit by the page
 * and a whole request by itself. Entries are hints: a kept entry costs at most the read of a row that another worker has taken.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { Lane } from '../task/lane.ts';
import type { ReadyEntry } from '../task/task-store.ts';
import type { WalkQuery } from '../task/tenants.ts';
import { PRIORITIES } from '../task/task.ts';
import { PAGE_MAX_AGE_MS } from './tuning.ts';

export interface PartitionPlace {
  readonly shard: number;
  readonly lane: Lane;
}

export interface EntryReader {
  /** Reads the next entries worth reading, in the order in which they are to be tried. `isEnd`: none follow them. */
  read(query: ReadQuery): Promise<{ readonly hints: readonly ReadyEntry[]; readonly isEnd: boolean }>;
  /** The last page is read again. @returns whether that is possible: a tenant's entries would lose their turn */
  rewind(): boolean;
  /** Whether the oldest entries are to be read again although others are left. */
  readonly isHeadDue: boolean;
}

export type ReadQuery = Required<Omit<WalkQuery, 'quantum' | 'onDamaged'>>;

export interface PollQuery extends ReadQuery {
  /** How many changes the picker had counted when the poll began. */
  readonly changes: number;
}

/** Counts the turns of all sources of one worker. */
export class TurnCount {
  #last = 0;

  next(): number {
    return ++this.#last;
  }
}

interface SourcePorts {
  readonly clock: Clock;
  readonly turns: TurnCount;
}

export class PartitionSource {
  readonly shard: number;
  readonly lane: Lane;
  /** Has more, as far as is known: worth a poll at once. */
  isHot = false;
  /** Other workers held all that was read last. */
  isHeldByOthers = false;
  readonly #reader: EntryReader;
  readonly #clock: Clock;
  readonly #pollSchedule: TurnCount;
  #ahead: readonly ReadyEntry[] = [];
  #aheadUntilMonotonicMs = 0;
  #isEnd = true;
  #polledAtMonotonicMs = Number.MIN_SAFE_INTEGER;
  #seenChanges = -1;
  #servedAt = 0;

  constructor({ shard, lane }: PartitionPlace, reader: EntryReader, { clock, turns }: SourcePorts) {
    this.shard = shard;
    this.lane = lane;
    this.#reader = reader;
    this.#clock = clock;
    this.#pollSchedule = turns;
  }

  /** 0 is the highest priority. */
  get rank(): number {
    return PRIORITIES.indexOf(this.lane.priority);
  }

  /** Monotonic time of the last index query. Before the first: before everything else. */
  get polledAtMonotonicMs(): number {
    return this.#polledAtMonotonicMs;
  }

  /** Changes that the picker had counted at the last index query. */
  get seenChanges(): number {
    return this.#seenChanges;
  }

  /** When entries were taken from it last, counted in turns of all sources, because two turns may fall on one reading of a clock. */
  get servedAt(): number {
    return this.#servedAt;
  }

  /** Whether entries follow those that were taken last. */
  get hasMore(): boolean {
    return this.#isAhead || !this.#isEnd;
  }

  /** It has its turn. */
  serve(): void {
    this.#servedAt = this.#pollSchedule.next();
  }

  /** The next entries worth reading, at most as many as wanted. */
  async next(query: PollQuery): Promise<readonly ReadyEntry[]> {
    this.serve();
    this.#ahead = this.#isAhead ? this.#ahead.filter(query.isWorthReading) : [];
    if (this.#ahead.length === 0 || this.#reader.isHeadDue) {
      this.#seenChanges = query.changes;
      this.#polledAtMonotonicMs = this.#clock.monotonic();
      this.#keep(await this.#reader.read(query));
    }
    const hints = this.#ahead.slice(0, query.wanted);
    this.#ahead = this.#ahead.slice(query.wanted);
    return hints;
  }

  /** Entries that were not tried after all: they come first again. */
  giveBack(hints: readonly ReadyEntry[]): void {
    if (hints.length === 0) return;
    this.#ahead = [...hints, ...this.#ahead];
    this.isHot = true;
  }

  /** Others have taken what was read ahead: its page is read again. */
  readAgain(): void {
    if (!this.#isAhead || !this.#reader.rewind()) return;
    this.#ahead = [];
    this.#isEnd = false;
  }

  /** The oldest entries come before those that were left. */
  #keep({ hints, isEnd }: { readonly hints: readonly ReadyEntry[]; readonly isEnd: boolean }): void {
    const read = new Set(hints.map(({ id }) => id));
    this.#isEnd = isEnd;
    this.#ahead = [...hints, ...this.#ahead.filter(({ id }) => !read.has(id))];
    this.#aheadUntilMonotonicMs = this.#clock.monotonic() + PAGE_MAX_AGE_MS;
  }

  get #isAhead(): boolean {
    return this.#ahead.length > 0 && this.#clock.monotonic() < this.#aheadUntilMonotonicMs;
  }
}
