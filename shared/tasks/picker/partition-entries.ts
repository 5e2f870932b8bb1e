/** Reads the entries of one partition from its index, in the order in which to try them. */
import { shuffled } from '../../core/runtime/random.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { ReadEntries } from './partition-view.ts';
import type { ReadyPartition, TaskStore } from '../task/task-store.ts';
import { TenantWalk } from '../task/tenants.ts';

interface EntriesOptions {
  readonly isOfTenants: boolean;
  /** Whether the lane is known to be in use. */
  readonly isExpected: boolean;
  /** Whether the worker owns the shard. It may adopt the shard later. */
  readonly isHome: () => boolean;
  /** Maximum interval between reads of the oldest entries. */
  readonly headEveryMs: number;
}

interface EntriesPorts {
  readonly tasks: Pick<TaskStore, 'page' | 'pageOfTenants'>;
  readonly runtime: Runtime;
  /** Reports foreign entries. */
  readonly onDamaged: (error: unknown) => void;
}

/** Entries of one page: 50 keys of about 130 bytes stay within one read unit. */
const PAGE_LIMIT = 50;
/** Maximum number of pages read in one poll if other workers hold all their entries. */
const PAGES_LIMIT = 40;

export function entriesOf(
  partition: ReadyPartition,
  { isOfTenants, isExpected, isHome, headEveryMs }: EntriesOptions,
  ports: EntriesPorts,
): ReadEntries {
  const { tasks, runtime, onDamaged } = ports;
  const { random } = runtime;
  if (isOfTenants) {
    // If no entry is expected, reading from the start takes one request instead of two.
    const walk = new TenantWalk(partition, tasks, isExpected ? random : undefined);
    return (query) => walk.next({ ...query, onDamaged });
  }
  const reader = new OldestFirst(partition, headEveryMs, ports);
  return async (query) => {
    const { hints, isRound } = await reader.next(query);
    if (isHome()) return { hints, isRound };
    // The shard's own worker begins with the oldest: help with the others first.
    const middle = Math.floor(hints.length / 2);
    return { hints: [...shuffled(random, hints.slice(middle)), ...shuffled(random, hints.slice(0, middle))], isRound };
  };
}

/**
 * Reads a partition of the ready index for one worker, oldest first.
 * Each read continues after the previous one, so any number of entries held by other workers cannot hide the entries behind them.
 * From time to time it returns to the head, where crashed workers have left their tasks.
 */
class OldestFirst {
  readonly #partition: ReadyPartition;
  readonly #headEveryMs: number;
  readonly #ports: EntriesPorts;
  readonly #clock: Clock;
  /** Everything before this position has been read in this round; undefined: the round begins. */
  #after: unknown;
  /** Whether this round has found something. */
  #hasFound = false;
  #headAtMonotonicMs = 0;
  /** Wall-clock time of the last poll, which covered entries up to it. */
  #lookedUpTo = 0;

  constructor(partition: ReadyPartition, headEveryMs: number, ports: EntriesPorts) {
    this.#partition = partition;
    this.#headEveryMs = headEveryMs;
    this.#ports = ports;
    this.#clock = ports.runtime.clock;
  }

  /**
   * Returns the entries worth reading from the next page that has any.
   * If there are none, `isRound` tells whether the whole partition has none.
   */
  async next({ now, isWorthReading }: Parameters<ReadEntries>[0]): ReturnType<ReadEntries> {
    // After the clock was set back, a query covers less than has been read,
    // and the store refuses to continue from a position outside the query.
    if (now < this.#lookedUpTo) this.#after = undefined;
    this.#lookedUpTo = now;
    if (this.#after !== undefined && this.#headAtMonotonicMs <= this.#clock.monotonic()) {
      const { hints } = await this.#page(now, undefined);
      const worthReading = hints.filter(isWorthReading);
      if (worthReading.length > 0) return { hints: worthReading, isRound: false };
    }
    for (let page = 0; page < PAGES_LIMIT; page++) {
      const { hints, next } = await this.#page(now, this.#after);
      this.#after = next;
      const worthReading = hints.filter(isWorthReading);
      this.#hasFound ||= worthReading.length > 0;
      const isEmptyRound = next === undefined && !this.#hasFound;
      if (next === undefined) this.#hasFound = false;
      if (isEmptyRound || worthReading.length > 0) return { hints: worthReading, isRound: isEmptyRound };
    }
    return { hints: [], isRound: false };
  }

  async #page(now: number, after: unknown): ReturnType<TaskStore['page']> {
    if (after === undefined) this.#headAtMonotonicMs = this.#clock.monotonic() + this.#headEveryMs;
    const { tasks, onDamaged } = this.#ports;
    return tasks.page(this.#partition, { now, limit: PAGE_LIMIT, after, onDamaged });
  }
}
