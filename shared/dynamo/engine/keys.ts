/**
 * Keys of the one table.
 * The parts of a key are escaped, so that distinct tuples always give distinct keys:
 * `#` separates parts and `%` escapes, and an escaped part contains no `#`.
 */
import { parsePart, partName } from '../../core/permit-parts.ts';
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import { sha256 } from '../../core/runtime/sha256.ts';
import { ConfigurationError } from '../../core/errors.ts';
import { PARTITION_KEY_LIMIT_BYTES, SORT_KEY_LIMIT_BYTES } from './schema.ts';

export interface RowKey {
  readonly pk: string;
  readonly sk: string;
}

export const sessionKey = (id: string): RowKey => rowKey('session', [id]);
export const lockKey = (key: string): RowKey => rowKey('lock', [key]);
/**
 * The permits of a queue's workers have separate keys, so that a policy can grant them by key and refuse them to a program that only
 * coordinates. The parts of one queue share a partition, so one query reads them.
 */
export function semaphoreKey(name: string): RowKey {
  const { queue, part = 0 } = parsePart(name) ?? {};
  if (queue === undefined) return rowKey('semaphore', [name]);
  const key = rowKey('permits', [queue]);
  return part === 0 ? key : { ...key, sk: joinKey([key.sk, String(part)]) };
}
export function semaphoreName({ pk, sk }: RowKey): string {
  const [kind, name = ''] = splitKey(pk);
  const [, part = '0'] = splitKey(sk);
  return kind === 'permits' ? partName(name, Number(part)) : name;
}
export const waitGroupKey = (name: string): RowKey => rowKey('waitgroup', [name]);
/** The members of one generation share a partition and are sorted by id. */
export const waitGroupMemberKey = (
  group: { readonly name: string; readonly generation: number },
  id: string,
): RowKey => ({
  pk: rowKey('waitgroup', [group.name, String(group.generation)]).pk,
  sk: sortKey('member', id),
});
export const rateLimitKey = (name: string, key: string): RowKey => rowKey('ratelimit', [name, key]);
export const taskKey = (queue: string, id: string): RowKey => rowKey('task', [queue, id]);
export const tickKey = (schedule: string, scheduledTime: string): RowKey => rowKey('tick', [schedule, scheduledTime]);
export const scheduleKey = (queue: string, name: string): RowKey => rowKey('schedule', [queue, name]);
export const batchKey = (queue: string, id: string): RowKey => rowKey('batch', [queue, id]);
export const taskConcurrencyKey = (queue: string, key: string): RowKey => rowKey('key', [queue, key]);
/** An input that is too large for its task's row. Each request for the task has its own, because the former work may still run. */
export const payloadKey = (queue: string, id: string, nonce: string): RowKey => ({
  pk: rowKey('payload', [queue, id]).pk,
  sk: sortKey('nonce', nonce),
});
/** The failure of its last failed attempt. */
export const failureKey = (queue: string, id: string): RowKey => rowKey('failure', [queue, id]);
/** The turn of a key's tasks that run in order. */
export const lineKey = (queue: string, key: string): RowKey => rowKey('line', [queue, key]);
/**
 * Older elements of the journal of a durable task. @param part its name, which only one write of one claim gives
 */
export const journalKey = (queue: string, id: string, part: string): RowKey => ({
  pk: rowKey('journal', [queue, id]).pk,
  sk: sortKey('part', part),
});
/** An external event for an operation of a durable task. */
export const arrivalKey = (queue: string, id: string, openKey: string): RowKey => ({
  pk: rowKey('arrival', [queue, id]).pk,
  sk: sortKey('arrival', openKey),
});
export const queueKey = (queue: string): RowKey => rowKey('queue', [queue]);

/** The partition of the ready index. */
export function readyPartitionKey(queue: string, priority: string, shard: number): string {
  return joinKey([queue, priority, String(shard)]);
}

/** The partition of tasks of tenants, and of keys with a limit: one in the directory for each partition of the ready index. */
export function groupPartitionKey(queue: string, priority: string, shard: number): string {
  return joinKey(['group', queue, priority, String(shard)]);
}

/** Index partition of a queue's dead tasks. A queue has several, because many tasks tend to die at the same time. */
export function deadPartitionKey(queue: string, shard: number): string {
  return joinKey(['dead', queue, String(shard)]);
}

/** Index partition of the finished tasks of a queue that lists them. It has as many as the queue has shards. */
export function endedPartitionKey(queue: string, shard: number): string {
  return joinKey(['ended', queue, String(shard)]);
}

/** Returns the shard of a task. It depends on the hash of its id, so that a repeated write has the same shard. */
export function shardOf(id: string, shards: number): number {
  return Number.parseInt(sha256(id).slice(0, 8), 16) % shards;
}

export function joinKey(parts: readonly string[]): string {
  return parts.map(escapePart).join('#');
}

export function splitKey(key: string): string[] {
  const parts = key.split('#');
  return key.includes('%') ? parts.map((part) => part.replaceAll('%23', '#').replaceAll('%25', '%')) : parts;
}

function escapePart(part: string): string {
  return /[%#]/.test(part) ? part.replaceAll('%', '%25').replaceAll('#', '%23') : part;
}

function rowKey(kind: string, parts: readonly string[]): RowKey {
  const pk = joinKey([kind, ...parts]);
  return { pk: fitting(pk, PARTITION_KEY_LIMIT_BYTES, ['the key of', kind, ...parts]), sk: kind };
}

function sortKey(kind: string, name: string): string {
  return fitting(joinKey([kind, name]), SORT_KEY_LIMIT_BYTES, ['the sort key of', kind, name]);
}

/** @throws ConfigurationError for a key that the service would refuse */
export function fitting(key: string, limitBytes: number, what: readonly string[]): string {
  const bytes = utf8Bytes(key);
  if (bytes <= limitBytes) return key;
  throw new ConfigurationError(
    `${what.join(' ').slice(0, 80)}… has ${bytes} bytes: DynamoDB allows ${limitBytes}; ` +
      'shorten the names, in which each # and % counts as three',
  );
}
