/** The name of every attribute, with the first row that has it. Statements name them as `#name`, and a test checks these names. */
import { KEPT_OPTIONS } from './schema.ts';

const BY_ROW = {
  keys: 'pk sk readyKey readyAt directoryKey directoryName ttl',
  /** Schema version, and the nonce of the last write. */
  everyRow: 'v nonce',
  session:
    'id name node ttlMs lockDelayMs behaviour status createdAt expiresAt renewals reason invalidatedAt revoked remote',
  check: 'note updatedAt',
  lock: 'acquiredAt value consul modifyIndex freedAt notBefore forced',
  tick: 'schedule scheduledTime dispatchedAt by',
  task:
    'queue createdBy work state input priority attempts deaths failingSince handBacks leaseCounter session claimedAt ' +
    'progress sequence result spawned lastError finishedAt cancellation past0 past1 past2 past3 batch children follower ' +
    `key tenant ${KEPT_OPTIONS.join(' ')}`,
  queue: 'paused pausedTenants lanes shards listedSince took unknown names concurrency startWithin starts',
  batch: 'total pending done dead cancelled waiter childrenDigest countedAt',
  keyOfTasks: 'running window started enteredAt staySeconds',
  payload: 'text payload',
  /** And of a task that one waits for. */
  durableTask: 'journal journalPart open beats notify',
  barOfNewTasks: 'barred',
  line: 'tail turn line ticket',
  schedule:
    'task options cron zone startAt endAt jitterMs missed toleranceMs overlap definedAt lastAt leftOut pausedAt',
  semaphore: 'limit declared free holders waiting revision left floor',
  waitGroup: 'generation members lost',
  rateLimit: 'emptyAt',
} as const;

export const ATTRIBUTES: ReadonlySet<string> = new Set(Object.values(BY_ROW).flatMap((names) => names.split(' ')));
