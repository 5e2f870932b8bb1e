/** Slices: parts of a shard, for fleets that are larger than the number of shards. */
import { sha256 } from '../../core/runtime/sha256.ts';

/** One of `of` parts, counted from 0. */
export interface Slice {
  readonly nth: number;
  readonly of: number;
}

/** By another hash than the one that gives a task its shard: ids of one shard have that in common. */
export function isInSlice(id: string, { nth, of }: Slice): boolean {
  return Number.parseInt(sha256(`slice of ${id}`).slice(0, HASH_DIGITS), 16) % of === nth;
}

const HASH_DIGITS = 8;
