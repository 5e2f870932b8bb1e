/** How the entries of one partition are read from its index, and in which order they are tried. */
import { shuffled } from '../runtime/random.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { ReadEntries } from './partition-view.ts';
import type { ReadyHint, ReadyPartition, TaskStore } from './store.ts';
import { TenantWalk } from './tenants.ts';

export interface EntriesOptions {
  readonly isOfTenants: boolean;
  /** Whether the lane is known to be in use. */
  readonly isExpected: boolean;
  /** Whether the worker is at home in the shard: it may move in later. */
  readonly isHome: () => boolean;
}

interface EntriesPorts {
  readonly tasks: TaskStore;
  readonly runtime: Runtime;
}

/** Entries of one page: 50 keys of about 130 bytes stay within one read unit. */
const PAGE_LIMIT = 50;
/** Pages read in one look while everything on them is held by others. */
const PAGES_LIMIT = 40;

export function entriesOf(
  partition: ReadyPartition,
  { isOfTenants, isExpected, isHome }: EntriesOptions,
  { tasks, runtime: { random } }: EntriesPorts,
): ReadEntries {
  if (isOfTenants) {
    // Where nobody is expected, a look from the first place on takes one request instead of two.
    const walk = new TenantWalk(partition, tasks, isExpected ? random : undefined);
    return async (query) => (await walk.next(query)).hints;
  }
  return async (query) => {
    const page = await oldestOf(partition, query, tasks);
    if (isHome()) return page;
    // Whoever is at home there begins with the oldest: help with the others first.
    const middle = Math.floor(page.length / 2);
    return [...shuffled(random, page.slice(middle)), ...shuffled(random, page.slice(0, middle))];
  };
}

/** What is worth reading of the first page that has something, oldest first. */
async function oldestOf(
  partition: ReadyPartition,
  { now, isWorthReading }: Parameters<ReadEntries>[0],
  tasks: TaskStore,
): Promise<readonly ReadyHint[]> {
  let after: unknown;
  for (let page = 0; page < PAGES_LIMIT; page++) {
    const { hints, next } = await tasks.page(partition, { now, limit: PAGE_LIMIT, after });
    const worthReading = hints.filter(isWorthReading);
    if (worthReading.length > 0 || next === undefined) return worthReading;
    after = next;
  }
  return [];
}
