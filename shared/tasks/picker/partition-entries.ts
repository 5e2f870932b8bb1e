/** Readers of one partition's entries: oldest first, or round robin among groups, depending on its lane. */
import { shuffled } from '../../core/runtime/random.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { GroupHint, ReadyEntry, ReadyPartition, TaskStore } from '../task/task-store.ts';
import type { WalkQuery } from '../task/group-walk.ts';
import { GroupWalk } from '../task/group-walk.ts';
import type { EntryReader, ReadQuery } from './partition-source.ts';
import type { ChosenSlice } from './chosen-slice.ts';
import { PAGES_PER_POLL, PAGE_ENTRIES } from './tuning.ts';

interface EntriesOptions {
  readonly isOfGroups: boolean;
  /** Whether the lane is known to be in use. */
  readonly isExpected: boolean;
  /** Whether the shard is the worker's own; it may adopt the shard later. */
  readonly isOwn: () => boolean;
  /** Maximum time between two reads of the oldest entries. */
  readonly headEveryMs: number;
  /** The worker's part of the partition. */
  readonly slice: ChosenSlice;
}

interface EntriesPorts {
  readonly tasks: Pick<TaskStore, 'page' | 'pageOfGroups'>;
  readonly runtime: Runtime;
  /** Reports entries of rows of other queues, which are left out. */
  readonly onDamaged: (error: unknown) => void;
}

export function entriesOf(partition: ReadyPartition, options: EntriesOptions, ports: EntriesPorts): EntryReader {
  return options.isOfGroups ? new GroupsInTurn(partition, options, ports) : new OldestFirst(partition, options, ports);
}

class GroupsInTurn implements EntryReader {
  readonly isHeadDue = false;
  readonly rewind = (): boolean => false;
  readonly #walk: GroupWalk;
  readonly #slice: ChosenSlice;
  readonly #onDamaged: EntriesPorts['onDamaged'];
  /** Tenants and keys without a drawn entry at the last visit. */
  readonly #passedBy = new Set<string>();

  constructor(
    partition: ReadyPartition,
    { isExpected, slice }: EntriesOptions,
    { tasks, runtime, onDamaged }: EntriesPorts,
  ) {
    this.#slice = slice;
    this.#onDamaged = onDamaged;
    // If no tenant is expected, a poll that starts at the first position takes one request instead of two.
    this.#walk = new GroupWalk(partition, tasks, isExpected ? runtime.random : undefined);
  }

  /**
   * A walk begins again with the oldest tasks of a tenant, and would walk over other slices each time, so it draws entries instead.
   * A tenant without a drawn entry gets its turn at the next visit.
   */
  async read(query: ReadQuery): ReturnType<EntryReader['read']> {
    const ports = { ...query, onDamaged: this.#onDamaged };
    if (this.#slice.isPart) {
      const { hints, isFullyRead } = await this.#drawn(ports);
      if (hints.length > 0 || !isFullyRead) return { hints, isEnd: false };
      this.#slice.finish();
      this.#passedBy.clear();
    }
    const { hints, isFullyRead, pages } = await this.#walk.next(ports);
    // A tenant's tasks beyond its share are skipped, so only a round without a find shows that nothing is left.
    const isEnd = isFullyRead && hints.length === 0;
    return { hints, isEnd, passedPages: isEnd ? pages : 0 };
  }

  /** Returns the next drawn entries, and one entry of each tenant that had none at the last visit. */
  async #drawn(query: WalkQuery): ReturnType<GroupWalk['next']> {
    const [drawn, skipped] = [new Set<string>(), new Set<string>()];
    const isWorthReading = (hint: GroupHint): boolean => {
      if (query.isWorthReading?.(hint) === false) return false;
      const name = hint.tenant ?? `key ${hint.limit?.key}`;
      const isDrawn = this.#slice.isDrawn || this.#passedBy.delete(name);
      (isDrawn ? drawn : skipped).add(name);
      return isDrawn;
    };
    const next = await this.#walk.next({ ...query, isWorthReading });
    for (const name of skipped) if (!drawn.has(name)) this.#passedBy.add(name);
    return next;
  }
}

/**
 * One worker's walk through a partition, oldest first.
 * It continues from the last page, so entries that other workers hold hide nothing behind them.
 * It reads the oldest entries again once a heartbeat, because the tasks of crashed workers are there.
 */
class OldestFirst implements EntryReader {
  readonly #partition: ReadyPartition;
  readonly #options: EntriesOptions;
  readonly #ports: EntriesPorts;
  /** Everything before this position has been read in this round. Undefined: the round begins. */
  #after: unknown;
  /** Start of the last page. */
  #pageAfter: unknown;
  #headAtMonotonicMs = 0;
  /** The oldest entries at the last read. Entries that are still there at the next read are tried in any slice. */
  #head: ReadonlySet<string> = new Set();
  /** Entries of other slices in this round, until the round finds one of the own slice. */
  #ofOthers: readonly ReadyEntry[] | undefined = [];
  /** Wall clock of the last read, which requested the entries that were due by then. */
  #readUpTo = 0;

  constructor(partition: ReadyPartition, options: EntriesOptions, ports: EntriesPorts) {
    this.#partition = partition;
    this.#options = options;
    this.#ports = ports;
  }

  get isHeadDue(): boolean {
    return this.#options.isOwn() && this.#headAtMonotonicMs <= this.#ports.runtime.clock.monotonic();
  }

  rewind(): boolean {
    this.#after = this.#pageAfter;
    return true;
  }

  async read({ now, isWorthReading }: ReadQuery): ReturnType<EntryReader['read']> {
    // If the clock was set back, the query would end before the position to continue from,
    // and the store refuses such a position.
    if (now < this.#readUpTo) this.#after = undefined;
    this.#readUpTo = now;
    if (this.#after !== undefined && this.isHeadDue) {
      const { hints } = await this.#page(now, undefined);
      const { slice } = this.#options;
      const isMine = ({ id }: ReadyEntry): boolean => this.#head.has(id) || slice.has(id);
      const worthReading = hints.filter((hint) => isMine(hint) && isWorthReading(hint));
      this.#head = new Set(hints.map(({ id }) => id));
      if (worthReading.length > 0) return { hints: worthReading, isEnd: false };
    }
    for (let page = 0; page < PAGES_PER_POLL; page++) {
      const { hints, next } = await this.#page(now, this.#after);
      this.#pageAfter = this.#after;
      this.#after = next;
      const isEnd = next === undefined;
      const worthReading = this.#sliced(hints.filter(isWorthReading), isEnd);
      if (isEnd || worthReading.length > 0) return { hints: this.#inOrder(worthReading), isEnd };
    }
    return { hints: [], isEnd: false };
  }

  /** Returns entries of the own slice, or entries of other slices if a whole round has found none of the own. */
  #sliced(hints: readonly ReadyEntry[], isEnd: boolean): readonly ReadyEntry[] {
    const { slice } = this.#options;
    if (!slice.isPart) return hints;
    const mine = hints.filter(({ id }) => slice.has(id));
    const others = mine.length > 0 ? undefined : this.#ofOthers && [...this.#ofOthers, ...hints];
    this.#ofOthers = isEnd ? [] : others;
    if (!isEnd || others === undefined) return mine;
    slice.finish();
    return shuffled(this.#ports.runtime.random, others);
  }

  /** The shard's own worker begins with the oldest entries, so a helper takes the newer ones first. */
  #inOrder(hints: readonly ReadyEntry[]): readonly ReadyEntry[] {
    if (this.#options.isOwn()) return hints;
    const { random } = this.#ports.runtime;
    const middle = Math.floor(hints.length / 2);
    return [...shuffled(random, hints.slice(middle)), ...shuffled(random, hints.slice(0, middle))];
  }

  async #page(now: number, after: unknown): ReturnType<TaskStore['page']> {
    if (after === undefined)
      this.#headAtMonotonicMs = this.#ports.runtime.clock.monotonic() + this.#options.headEveryMs;
    const { tasks, onDamaged } = this.#ports;
    return tasks.page(this.#partition, { now, limit: PAGE_ENTRIES, after, onDamaged });
  }
}
