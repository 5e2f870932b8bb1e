/** How the entries of one partition are read from its index, and in which order they are tried. */
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
  /** Whether the worker is at home in the shard: it may move in later. */
  readonly isHome: () => boolean;
  /** How often to come back to the oldest entries, at least. */
  readonly headEveryMs: number;
}

interface EntriesPorts {
  readonly tasks: Pick<TaskStore, 'page' | 'pageOfTenants'>;
  readonly runtime: Runtime;
  /** Is told of foreign entries. */
  readonly onDamaged: (error: unknown) => void;
}

/** Entries of one page: 50 keys of about 130 bytes stay within one read unit. */
const PAGE_LIMIT = 50;
/** Pages read in one look while everything on them is held by others. */
const PAGES_LIMIT = 40;

export function entriesOf(
  partition: ReadyPartition,
  { isOfTenants, isExpected, isHome, headEveryMs }: EntriesOptions,
  ports: EntriesPorts,
): ReadEntries {
  const { tasks, runtime, onDamaged } = ports;
  const { random } = runtime;
  if (isOfTenants) {
    // Where none is expected, a look from the first place on takes one request instead of two.
    const walk = new TenantWalk(partition, tasks, isExpected ? random : undefined);
    return (query) => walk.next({ ...query, onDamaged });
  }
  const reader = new OldestFirst(partition, headEveryMs, ports);
  return async (query) => {
    const { hints, isRound } = await reader.next(query);
    if (isHome()) return { hints, isRound };
    // The worker at home there begins with the oldest: help with the others first.
    const middle = Math.floor(hints.length / 2);
    return { hints: [...shuffled(random, hints.slice(middle)), ...shuffled(random, hints.slice(0, middle))], isRound };
  };
}

/**
 * One worker's way through a partition of the ready index, oldest first.
 * It goes on from where it has read to, so entries that others hold hide
 * nothing behind them, however many they are; and comes back to the head
 * now and then, where the tasks of workers stand that have died.
 */
class OldestFirst {
  readonly #partition: ReadyPartition;
  readonly #headEveryMs: number;
  readonly #ports: EntriesPorts;
  readonly #clock: Clock;
  /** Everything before has been read in this round; undefined: it begins. */
  #after: unknown;
  /** Whether this round has found something. */
  #hasFound = false;
  #headAtMonotonicMs = 0;
  /** Wall clock of the last look: entries up to it have been asked for. */
  #lookedUpTo = 0;

  constructor(partition: ReadyPartition, headEveryMs: number, ports: EntriesPorts) {
    this.#partition = partition;
    this.#headEveryMs = headEveryMs;
    this.#ports = ports;
    this.#clock = ports.runtime.clock;
  }

  /** What is worth reading of the next page that has something. Without any, `isRound` says whether the whole partition has nothing. */
  async next({ now, isWorthReading }: Parameters<ReadEntries>[0]): ReturnType<ReadEntries> {
    // A clock that was set back asks for less than has been read,
    // and the store refuses to go on from a place outside of what it is asked for.
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
