/** Numbers by task name, from the latest entries of the list of ended tasks. */
import type { EndedEntry } from '../task/ended-list.ts';

export interface NameNumbers {
  /** Its first 100 bytes. */
  readonly name: string;
  readonly ended: number;
  /** Dead ones. */
  readonly failed: number;
  /** Ended after more than one attempt. */
  readonly retried: number;
  /** From when it was due to the claim of its last attempt; undefined if none of them was claimed. */
  readonly waitedMs: Middle | undefined;
  /** How long the last attempt took. */
  readonly ranMs: Middle | undefined;
}

export interface EndedNumbers {
  /** By name, the one that ended most often first. */
  readonly names: readonly NameNumbers[];
  /** Entries that were read. */
  readonly read: number;
  /** There are earlier ones in the time that was asked for. */
  readonly isCut: boolean;
}

interface Middle {
  readonly p50: number;
  readonly p95: number;
}

/** How far back the numbers go. */
export const NUMBERS_SINCE = '1h';
export const NUMBERS_LIMIT = 10_000;

/** @param entries newest first; damaged ones, and dead tasks from before the queue listed, have no name and are left out */
export async function numbersOf(entries: AsyncIterable<EndedEntry>, limit = NUMBERS_LIMIT): Promise<EndedNumbers> {
  const read: EndedEntry[] = [];
  let isCut = false;
  for await (const entry of entries) {
    isCut = read.length === limit;
    if (isCut) break;
    read.push(entry);
  }
  return { names: namesIn(read), read: read.length, isCut };
}

export function namesIn(entries: readonly EndedEntry[]): readonly NameNumbers[] {
  const known = entries.flatMap((entry) => (entry.kind === 'ended' && entry.name !== undefined ? [entry] : []));
  const byName = Map.groupBy(known, ({ name = '' }) => name);
  return [...byName]
    .map(([name, tasks]) => ({
      name,
      ended: tasks.length,
      failed: tasks.filter(({ state }) => state === 'dead').length,
      retried: tasks.filter(({ attempts = 0 }) => attempts > 1).length,
      waitedMs: middleOf(tasks.flatMap(({ waitedMs, ranMs }) => (ranMs === undefined ? [] : (waitedMs ?? [])))),
      ranMs: middleOf(tasks.flatMap(({ ranMs = [] }) => ranMs)),
    }))
    .toSorted((one, other) => other.ended - one.ended || (one.name < other.name ? -1 : 1));
}

function middleOf(values: readonly number[]): Middle | undefined {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  return sorted.length === 0 ? undefined : { p50: at(0.5), p95: at(0.95) };
}
