/**
 * The directory of sessions and locks: entries in sixteen partitions, and listings that merge them.
 *
 * DynamoDB writes about 1,000 units a second to one partition of an index, and beyond that throttles the table.
 * A session's partition depends on its id. A lock's partition depends on its key up to the first `/`, so that a listing
 * of `orders/` reads only one partition.
 */
import { allOf } from '../../core/runtime/all-of.ts';
import type { DynamoItem } from './driver.ts';
import { joinKey, shardOf } from './keys.ts';
import type { Sender } from './send.ts';
import type { NameRange } from './statement.ts';
import { backwardStatement, directoryStatement } from './statement.ts';
import type { Verb } from './verb.ts';

export const DIRECTORY_SHARDS = 16;
/** Number of small entries in half a read unit. A smaller page would cost the same. */
const SHARD_PAGE_LIMIT = 25;
/** Some 200 KB. */
const MOST_AT_ONCE = 1_000;
/** The rows behind a page are read in one batch, which DynamoDB limits to a hundred. */
const PAGE_LIMIT = 100;

type Kind = 'session' | 'lock';

/** @param of text to hash: entries with equal texts share a partition */
export function directoryPartition(kind: Kind, of: string): string {
  return joinKey([kind, String(shardOf(of, DIRECTORY_SHARDS))]);
}

export function directoryPartitions(kind: Kind): readonly string[] {
  return Array.from({ length: DIRECTORY_SHARDS }, (_, shard) => joinKey([kind, String(shard)]));
}

/** A listing's position in one partition: entries that it has read but not returned, and the cursor after them. */
interface Place {
  readonly partition: string;
  readonly items: readonly DynamoItem[];
  readonly after: unknown;
  readonly isRead: boolean;
  /** Entries that were read so far. */
  readonly count: number;
}

export interface DirectoryQuery {
  readonly verb: Verb;
  readonly table: string;
  readonly partitions: readonly string[];
  /** The beginning of the names; or, for a listing from the last to the first, their range. */
  readonly of: string | NameRange;
}

/**
 * Returns a page of all partitions, in order of name, or from the last name to the first.
 * @param after `next` of the previous page, an object in memory. Default: the first page.
 */
export async function mergedPage(
  sender: Sender,
  query: DirectoryQuery,
  after: unknown,
): Promise<{ readonly items: readonly DynamoItem[]; readonly next: unknown }> {
  let places =
    (after as readonly Place[] | undefined) ??
    query.partitions.map((partition): Place => ({ partition, items: [], after: undefined, isRead: false, count: 0 }));
  const items: DynamoItem[] = [];
  while (items.length < PAGE_LIMIT && places.length > 0) {
    if (places.some(needsMore))
      places = (await allOf(places.map((place) => readOn(sender, query, place)))).filter(
        ({ items }) => items.length > 0,
      );
    places = takeFirst(places, items, typeof query.of === 'string' ? compareNames : (a, b) => compareNames(b, a));
  }
  return { items, next: places.length === 0 ? undefined : places };
}

function needsMore({ items, isRead }: Place): boolean {
  return items.length === 0 && !isRead;
}

async function readOn(sender: Sender, query: DirectoryQuery, place: Place): Promise<Place> {
  const { verb, table, of } = query;
  const least = query.partitions.length === 1 ? PAGE_LIMIT : SHARD_PAGE_LIMIT;
  // A listing from the last to the first may go on for long: its pages grow, and at most a quarter is read in vain.
  const limit = typeof of === 'string' ? least : Math.min(MOST_AT_ONCE, Math.max(least, Math.floor(place.count / 4)));
  // Then partitions use up their pages together, and are read on at once.
  const low = limit > least ? limit / 2 : 0;
  let found = place;
  // A page may be empty even if it is not the last.
  while (!found.isRead && (found.items.length === 0 || (found === place && place.items.length <= low))) {
    const options = { after: found.after, limit };
    const statement =
      typeof of === 'string'
        ? directoryStatement(verb, table, place.partition, of, options)
        : backwardStatement(verb, table, place.partition, of, options);
    const { Items = [], LastEvaluatedKey } = await sender.read(statement);
    found = {
      ...found,
      items: [...found.items, ...Items],
      after: LastEvaluatedKey,
      isRead: LastEvaluatedKey === undefined,
      count: found.count + Items.length,
    };
  }
  return found;
}

/**
 * Moves the first names into the page until it is full, or until a partition has no read entries left. @returns the positions after them
 */
function takeFirst(
  places: readonly Place[],
  page: DynamoItem[],
  compare: (one: string, other: string) => number,
): Place[] {
  const left = places.map((place) => ({ place, taken: 0 }));
  for (;;) {
    const [first, ...others] = left;
    if (first === undefined || page.length === PAGE_LIMIT) break;
    let next = first;
    for (const other of others) if (compare(nameAt(other), nameAt(next)) < 0) next = other;
    const item = next.place.items[next.taken++];
    if (item !== undefined) page.push(item);
    if (next.taken < next.place.items.length) continue;
    if (!next.place.isRead) break;
    left.splice(left.indexOf(next), 1);
  }
  return left
    .map(({ place, taken }) => ({ ...place, items: place.items.slice(taken) }))
    .filter(({ items, isRead }) => items.length > 0 || !isRead);
}

function nameAt({ place, taken }: { readonly place: Place; readonly taken: number }): string {
  return String(place.items[taken]?.directoryName);
}

/** Compares texts by their bytes, as DynamoDB does: a surrogate pair comes after all other characters. */
function compareNames(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (a !== b) return rankOf(a) - rankOf(b);
  }
  return one.length - other.length;
}

function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
