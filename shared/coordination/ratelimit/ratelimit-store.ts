import type { Outcome, Stamp } from '../../core/lease/write.ts';
import type { Draw } from './bucket.ts';

export interface BucketKey {
  /** The limiter's name. */
  readonly name: string;
  readonly key: string;
}

export interface BucketRecord {
  readonly emptyAt: number;
  readonly nonce: string;
}

/** Stores buckets. Every write is conditional; see `coordination/ratelimit/row/ratelimit-statements.ts` for the guards. */
export interface RateLimitStore {
  /** Takes tokens from a bucket in use. Refused if it has too few tokens, or if it is full or new. */
  take(bucket: BucketKey, draw: Draw, write: Stamp): Promise<Outcome<BucketRecord>>;
  /** Takes tokens from a full or new bucket. Refused if it is neither. */
  takeFromFull(bucket: BucketKey, draw: Draw, write: Stamp): Promise<Outcome<BucketRecord>>;
  /** Strongly consistent. */
  get(bucket: BucketKey): Promise<BucketRecord | undefined>;
}
