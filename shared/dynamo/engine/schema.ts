/**
 * The one table: its keys and its indexes. `attribute-names.ts` has the name of every attribute.
 */

/** Every row carries the version of its layout. This code reads and changes rows of this version only. */
export const SCHEMA_VERSION = 3;

export const TABLE = {
  partitionKey: 'pk',
  sortKey: 'sk',
  /** Epoch seconds. Garbage collection only, never expiry. */
  ttlAttribute: 'ttl',
} as const;

/** Tasks that may be due: sparse, keys only, one partition per queue, priority and shard, ordered by time. */
export const READY_INDEX = {
  name: 'ready',
  partitionKey: 'readyKey',
  sortKey: 'readyAt',
} as const;

/** Listings by kind and name: sparse, keys only. */
export const DIRECTORY_INDEX = {
  name: 'directory',
  partitionKey: 'directoryKey',
  sortKey: 'directoryName',
} as const;

/** DynamoDB's limits on keys, in UTF-8 bytes. */
export const PARTITION_KEY_LIMIT_BYTES = 2048;
export const SORT_KEY_LIMIT_BYTES = 1024;

/** How long rows stay after their last use, in days: beyond any lease, any late request, and any investigation. */
export const RETENTION_DAYS = {
  /** If TTL deletes a lease row, its counter restarts from the clock. That is safe if clocks are wrong by less than this time. */
  lease: 30,
  session: 30,
  /** Done, dead and cancelled tasks. */
  task: 14,
  tick: 14,
  /** Removed schedules. */
  schedule: 30,
  /** Counted from the time when its task is due. The payload of a done task is deleted long before that. */
  payload: 365,
  /** A holder does not write the row while it has a permit, so the row must outlast any session. */
  semaphore: 365,
  /** Members may be pending as long as a caller waits. */
  waitGroup: 365,
  /** A bucket that is full again is equivalent to a missing row. */
  rateLimit: 1,
} as const;

/** Number of partitions for the list of a queue's dead tasks. Not a setting, because every version must find the whole list. */
export const DEAD_SHARDS = 4;

/** TTL attribute of a row whose last use is at `now`. */
export function ttlEpochSeconds(now: number, days: number): number {
  return Math.floor(now / 1000) + days * 86_400;
}

/** Of a task: options of its request that it keeps. A producer may write them. */
export const KEPT_OPTIONS = ['label', 'traceparent', 'policy'] as const;
