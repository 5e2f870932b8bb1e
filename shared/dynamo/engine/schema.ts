/**
 * The one table: its keys, its indexes, and the name of every attribute.
 * Attribute names appear nowhere else; statements reach them through the placeholders below.
 */

/** Every row carries the version of its layout. This code reads and changes rows of this version only. */
export const SCHEMA_VERSION = 2;

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
  /** A swept lease row restarts its counter from the clock; that is safe while clocks are right to within this time. */
  lease: 30,
  session: 30,
  /** Done, dead and cancelled tasks. */
  task: 14,
  slot: 14,
  /** Schedules that were removed. */
  schedule: 30,
  /** From when its task is due. The payload of a done task is deleted long before. */
  payload: 365,
  /** A permit lives in a row that its holder does not write while it holds, so the row outlasts any session. */
  semaphore: 365,
  /** Members may be pending for as long as a caller is ready to wait. */
  waitGroup: 365,
  /** A bucket that is full again is as good as none. */
  rateLimit: 1,
  /** A year and a month: beyond most questions of who did that. */
  audit: 395,
} as const;

/** Partitions that a queue's dead tasks are listed in. Not a setting: the list must be found whole, whichever version wrote it. */
export const DEAD_SHARDS = 4;

/**
 * Partitions that a queue's parked tasks stand in, by their keys. Not a setting:
 * a worker that frees a place must find the tasks that wait for it.
 */
export const PARKED_SHARDS = 4;

/** TTL attribute of a row whose last use is at `now`. */
export function ttlEpochSeconds(now: number, days: number): number {
  return Math.floor(now / 1000) + days * 86_400;
}

/** Every attribute of every row. Statements reach them as `#name`, which a test holds to this list. */
export const ATTRIBUTES: ReadonlySet<string> = new Set([
  // keys
  ...['pk', 'sk', 'readyKey', 'readyAt', 'directoryKey', 'directoryName', 'ttl'],
  // every row: schema version, and the nonce of the last write
  ...['v', 'nonce'],
  // session
  ...[
    'id',
    'name',
    'node',
    'ttlMs',
    'lockDelayMs',
    'behaviour',
    'status',
    'createdAt',
    'expiresAt',
    'renewals',
    'reason',
    'invalidatedAt',
    'checks',
    'revoked',
    'remote',
  ],
  // check
  ...['note', 'updatedAt'],
  // lock
  ...['acquiredAt', 'value', 'flags', 'createIndex', 'modifyIndex', 'lockIndex', 'freedAt', 'notBefore', 'forced'],
  // slot
  ...['schedule', 'slot', 'dispatchedAt', 'by'],
  // task
  ...[
    'queue',
    'state',
    'input',
    'priority',
    'attempts',
    'deaths',
    'failingSince',
    'handBacks',
    'leaseCounter',
    'session',
    'claimedAt',
    'progress',
    'sequence',
    'result',
    'lastError',
    'finishedAt',
    'cancellation',
    ...['past0', 'past1', 'past2', 'past3'],
    ...['batch', 'children', 'childrenQueue', 'follower', 'key', 'tenant', 'traceparent', 'policy'],
  ],
  // queue
  ...['paused', 'lanes', 'shards', 'took', 'unknown', 'names'],
  ...['concurrency', 'startWithin', 'starts'],
  // batch
  ...['total', 'pending', 'done', 'dead', 'cancelled', 'waiter'],
  // pack
  ...['moved', 'results'],
  // key
  ...['running', 'window', 'started', 'enteredAt'],
  // a task that waits for a place of its key
  ...['parkedKey', 'parkedName'],
  // payload, and a task that has one
  ...['text', 'payload'],
  // line, and a task that stands in one
  ...['head', 'tail', 'line', 'ticket', 'heldKey'],
  // schedule
  ...[
    'task',
    'options',
    'cron',
    'zone',
    'startAt',
    'endAt',
    'jitterMs',
    'missed',
    'toleranceMs',
    'overlap',
    'definedAt',
  ],
  ...['lastAt', 'leftOut', 'pausedAt'],
  // semaphore
  ...['limit', 'declared', 'free', 'holders', 'waiting', 'revision', 'left', 'floor'],
  // wait group
  ...['generation', 'members', 'lost'],
  // rate limit
  'emptyAt',
]);
