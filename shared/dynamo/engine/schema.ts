/**
 * The one table: its keys, its indexes, and the name of every attribute.
 * Attribute names appear nowhere else; statements reach them through the placeholders below.
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

/** Every attribute of every row. Statements refer to them as `#name`, and a test checks these names against this list. */
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
    'revoked',
    'remote',
  ],
  // check
  ...['note', 'updatedAt'],
  // lock
  ...['acquiredAt', 'value', 'consul', 'modifyIndex', 'freedAt', 'notBefore', 'forced'],
  // tick
  ...['schedule', 'scheduledTime', 'dispatchedAt', 'by'],
  // task
  ...[
    'queue',
    'createdBy',
    'work',
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
    'spawned',
    'lastError',
    'finishedAt',
    'cancellation',
    ...['past0', 'past1', 'past2', 'past3'],
    ...['batch', 'children', 'follower', 'key', 'tenant'],
    ...KEPT_OPTIONS,
  ],
  // queue
  ...['paused', 'pausedTenants', 'lanes', 'shards', 'listedSince', 'took', 'unknown', 'names'],
  ...['concurrency', 'startWithin', 'starts'],
  // batch
  ...['total', 'pending', 'done', 'dead', 'cancelled', 'waiter', 'childrenDigest', 'countedAt'],
  // key
  ...['running', 'window', 'started', 'enteredAt', 'staySeconds'],
  // a task that waits for a place of its key
  // payload, and a task that has one
  ...['text', 'payload'],
  // durable task, and a task that one waits for
  ...['journal', 'journalPart', 'open', 'beats', 'notify'],
  // bar against late copies of new tasks
  'barred',
  // line, and a task that stands in one
  ...['tail', 'turn', 'line', 'ticket'],
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
