/** Slices: parts of a shard, for fleets that are larger than the number of shards. */
import { sha256 } from '../../core/runtime/sha256.ts';

/** One of `of` parts, counted from 0. */
export interface Slice {
  readonly nth: number;
  readonly of: number;
}

/** Uses a different hash than the choice of the shard does, because all ids of one shard agree in that hash. */
export function isInSlice(id: string, { nth, of }: Slice): boolean {
  return Number.parseInt(sha256(`slice of ${id}`).slice(0, HASH_DIGITS), 16) % of === nth;
}

const HASH_DIGITS = 8;
