/**
 * `PartitionSource` is one partition of the ready index as one worker knows it.
 *
 * A page of entries is read at once and used in parts: an entry costs a fiftieth of a read unit as part of a page,
 * and a whole request by itself. Entries are hints: a kept entry costs at most the read of a row that another worker has taken.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { Lane } from '../task/lane.ts';
import { laneName } from '../task/lane.ts';
import type { GroupHint, ReadyEntry } from '../task/task-store.ts';
import type { WalkQuery } from '../task/group-walk.ts';
import { PRIORITIES } from '../task/task.ts';
import type { ChosenSlice } from './chosen-slice.ts';
import { FREE_PAGES, PAGE_MAX_AGE_MS, REST_PER_PAGE_MS } from './tuning.ts';

export interface PartitionPlace {
  readonly shard: number;
  readonly lane: Lane;
}

export interface EntryReader {
  /**
   * Reads the next entries worth reading, in the order to try them. `isEnd`: no more entries follow. `passedPages`: all of them, in so many
   * pages, belong to full keys, or to tasks that others hold.
   */
  read(query: ReadQuery): Promise<PageRead>;
  /** Reads the last page again at the next call. @returns false for tenants' entries, which would lose their turn */
  rewind(): boolean;
  /** Whether it is time to read the oldest entries again, even if other entries are left. */
  readonly isHeadDue: boolean;
}

interface PageRead {
  readonly hints: readonly ReadyEntry[];
  readonly isEnd: boolean;
  readonly passedPages?: number;
}

export interface ReadQuery
  extends Required<Pick<WalkQuery, 'now' | 'wanted'>>, Pick<WalkQuery, 'onPage' | 'turnOf' | 'lookAt' | 'admit'> {
  readonly isWorthReading: (hint: ReadyEntry & Partial<Pick<GroupHint, 'limit'>>) => boolean;
}

export interface PollQuery extends ReadQuery {
  /** The picker's count of changes when the poll began. */
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
  readonly slice: ChosenSlice;
  readonly turns: TurnCount;
  /** Maximum rest after a round over many full keys. */
  readonly heartbeatMs: number;
  /** How long the partition rests after a poll that found nothing. */
  readonly restMs: () => number;
}

export class PartitionSource {
  readonly shard: number;
  readonly lane: Lane;
  /** Whether the source probably has more entries and is worth a poll at once. */
  isHot = false;
  /** Whether other workers held all tasks of the last read. */
  isHeldByOthers = false;
  /** Whether this worker has ever found entries worth reading here. */
  hasFound = false;
  /** The part of it that this worker tries first. */
  readonly slice: ChosenSlice;
  readonly #reader: EntryReader;
  readonly #ports: SourcePorts;
  #ahead: readonly ReadyEntry[] = [];
  #aheadUntilMonotonicMs = 0;
  #isEnd = true;
  #polledAtMonotonicMs = Number.MIN_SAFE_INTEGER;
  #seenChanges = -1;
  #restsUntilMonotonicMs = Number.MIN_SAFE_INTEGER;
  #servedAt = 0;

  constructor({ shard, lane }: PartitionPlace, reader: EntryReader, ports: SourcePorts) {
    this.#ports = ports;
    this.slice = ports.slice;
    this.shard = shard;
    this.lane = lane;
    this.#reader = reader;
  }

  get name(): string {
    return `${laneName(this.lane)} ${this.shard}`;
  }

  /** 0 is the highest priority. */
  get rank(): number {
    return PRIORITIES.indexOf(this.lane.priority);
  }

  /** Monotonic time of the last index query. Before the first query: earlier than any time. */
  get polledAtMonotonicMs(): number {
    return this.#polledAtMonotonicMs;
  }

  /** Changes that the picker had counted at the last index query. */
  get seenChanges(): number {
    return this.#seenChanges;
  }

  /** Whether its last round found nothing, and either read many pages or was of a lane that is rarely used. */
  get isResting(): boolean {
    return !this.isHot && this.#ports.clock.monotonic() < this.#restsUntilMonotonicMs;
  }

  /** When entries were last taken from it. Counted in turns of all sources, because two turns may have the same clock time. */
  get servedAt(): number {
    return this.#servedAt;
  }

  /** Whether entries follow the ones that were taken last. */
  get hasMore(): boolean {
    return this.#isAhead || !this.#isEnd;
  }

  /** Notes that the source has its turn. */
  serve(): void {
    this.#servedAt = this.#ports.turns.next();
  }

  /** Returns the next entries worth reading, at most as many as wanted. */
  async next(query: PollQuery): Promise<readonly ReadyEntry[]> {
    this.serve();
    this.#ahead = this.#isAhead ? this.#ahead.filter(query.isWorthReading) : [];
    if (this.#ahead.length === 0 || this.#reader.isHeadDue) {
      this.#seenChanges = query.changes;
      this.#polledAtMonotonicMs = this.#ports.clock.monotonic();
      this.#keep(await this.#reader.read(query));
    }
    const hints = this.#ahead.slice(0, query.wanted);
    this.#ahead = this.#ahead.slice(query.wanted);
    return hints;
  }

  /** Returns entries that were not tried to the front. */
  giveBack(hints: readonly ReadyEntry[]): void {
    if (hints.length === 0) return;
    this.#ahead = [...hints, ...this.#ahead];
    this.isHot = true;
  }

  /** Drops entries that were read ahead and whose tasks other workers have taken: their page is read again. */
  readAgain(): void {
    if (!this.#isAhead || !this.#reader.rewind()) return;
    this.#ahead = [];
    this.#isEnd = false;
  }

  /** The oldest entries come before the entries that were left. */
  #keep({ hints, isEnd, passedPages = 0 }: PageRead): void {
    const { heartbeatMs } = this.#ports;
    const passingMs = Math.min(heartbeatMs, REST_PER_PAGE_MS * Math.max(0, passedPages - FREE_PAGES));
    const restMs = Math.max(passingMs, hints.length === 0 ? this.#ports.restMs() : 0);
    this.#restsUntilMonotonicMs = this.#ports.clock.monotonic() + restMs;
    const read = new Set(hints.map(({ id }) => id));
    this.#isEnd = isEnd;
    this.hasFound ||= hints.length > 0;
    this.#ahead = [...hints, ...this.#ahead.filter(({ id }) => !read.has(id))];
    this.#aheadUntilMonotonicMs = this.#ports.clock.monotonic() + PAGE_MAX_AGE_MS;
  }

  get #isAhead(): boolean {
    return this.#ahead.length > 0 && this.#ports.clock.monotonic() < this.#aheadUntilMonotonicMs;
  }
}
