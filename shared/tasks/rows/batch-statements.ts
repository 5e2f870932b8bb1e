/**
 * The batch row: tasks that are waited for together.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `batch#<queue>#<id>`, `batch` | create |
 * | v | N | schema version | create |
 * | queue | S | identity, with the id in the key | create |
 * | total | N | children | create |
 * | pending | N | children that have not ended | create, count down, recount |
 * | left | N | the same again: a writer that knows only one of them is noticed by the next end | like `pending` |
 * | done, dead, cancelled | N | how those ended that have | create, count down |
 * | waiter | S, JSON | the task that the last one makes due | create |
 * | childrenDigest | S, optional | of the ids of the children, if the user named the batch | create |
 * | nonce | S | of its creation | create |
 * | countedAt | N, epoch ms | when the last end was counted; absent: none, or only the very last | count down |
 * | finishedAt | N, epoch ms | when the last child ended | count down; create, if there is none |
 * | ttl | N, epoch s | set once all have ended | like `finishedAt` |
 */
import { defined } from '../../core/defined.ts';
import type { Stamp } from '../../core/lease/write.ts';
import type { BatchKey, BatchRecord, ChildEnding, NewBatch, Waiter } from '../task/batch.ts';
import type { TaskKey } from '../task/task.ts';
import { batchKey, taskKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement, TransactionCheck } from '../../dynamo/engine/statement.ts';
import { checkStatement, createStatement, getStatement, updateStatement } from '../../dynamo/engine/statement.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';

/**
 * Guard: the row is absent.
 * Effect: counts `total` children, all of them open. Without any, all have ended.
 * Outcomes: refused = the id is taken; the row shows by which task.
 */
export function createBatch(
  table: string,
  { queue, id, total, waiter, childrenDigest }: NewBatch,
  { now, nonce }: Stamp,
): Statement<'put'> {
  return createStatement('batch.create', table, {
    ...batchKey(queue, id),
    v: SCHEMA_VERSION,
    queue,
    total,
    pending: total,
    left: total,
    done: 0,
    dead: 0,
    cancelled: 0,
    waiter: JSON.stringify(waiter),
    ...defined({ childrenDigest }),
    ...(total === 0 && { finishedAt: now, ttl: ttlEpochSeconds(now, RETENTION_DAYS.task) }),
    nonce,
  });
}

/**
 * Guard: other children are also pending, and no other program has written their number. A child is counted once, because the
 *   transaction that ends it contains this, and its guard is true only once.
 * Effect: as many fewer pending.
 * Outcomes: refused = the last child is among them, the number was written, or the batch does not exist; the row shows which.
 */
export function countDown(
  table: string,
  { queue, id }: BatchKey,
  ending: ChildEnding,
  stamp: Pick<Stamp, 'now'>,
  children = 1,
): Statement<'update'> {
  return updateStatement('batch.countDown', {
    table,
    key: batchKey(queue, id),
    guard: '#pending > :one AND #left = #pending',
    effect: `${COUNT[ending]}, #countedAt = :now`,
    stamp,
    values: { ':one': children },
  });
}

/**
 * Guard: only this child is pending, and no other program has written so.
 * Effect: all have ended.
 * Outcomes: refused = the batch does not exist.
 */
export function countLast(
  table: string,
  { queue, id }: BatchKey,
  ending: ChildEnding,
  stamp: Pick<Stamp, 'now'>,
): Statement<'update'> {
  return updateStatement('batch.countDown', {
    table,
    key: batchKey(queue, id),
    guard: '#pending = :one AND #left = #pending',
    effect: `${COUNT[ending]}, #finishedAt = :now, #ttl = :ttl`,
    stamp,
    values: { ':ttl': ttlEpochSeconds(stamp.now, RETENTION_DAYS.task) },
  });
}

/**
 * Guard: its numbers are as they were seen. Until they agree again, no end is counted.
 * Effect: as many pending as have not ended by the other counts; at least one, whose end is about to be counted.
 * Outcomes: refused = another worker has recounted, or the row was written again.
 */
export function recountBatch(table: string, { queue, id, ...counts }: BatchRecord, left: number): Statement<'update'> {
  const { total, pending, done, dead, cancelled } = counts;
  return updateStatement('batch.recount', {
    table,
    key: batchKey(queue, id),
    guard: '#pending = :pending AND #left = :left',
    effect: 'SET #pending = :open, #left = :open',
    values: { ':pending': pending, ':left': left, ':open': Math.max(1, total - done - dead - cancelled) },
  });
}

/**
 * Condition for a task to wait for a batch again.
 * Outcomes: refused = its last child has ended.
 */
export function isPending(table: string, { queue, id }: BatchKey): TransactionCheck {
  return checkStatement(table, batchKey(queue, id), '#pending > :zero', {});
}

export const readBatch = (table: string, { queue, id }: BatchKey): Statement<'get'> =>
  getStatement('batch.get', table, batchKey(queue, id));

const COUNT: Readonly<Record<ChildEnding, string>> = {
  done: 'SET #pending = #pending - :one, #left = #left - :one, #done = #done + :one',
  dead: 'SET #pending = #pending - :one, #left = #left - :one, #dead = #dead + :one',
  cancelled: 'SET #pending = #pending - :one, #left = #left - :one, #cancelled = #cancelled + :one',
};

/** @throws CorruptItemError */
export function decodeBatch(item: DynamoItem): BatchRecord {
  const row = new ItemReader(item);
  const [queue, id] = [row.string('queue'), row.idOfQueue];
  row.ensureKey(['batch', queue, id]);
  leftIn(item);
  return {
    queue,
    id,
    total: row.count('total'),
    pending: row.count('pending'),
    done: row.count('done'),
    dead: row.count('dead'),
    cancelled: row.count('cancelled'),
    waiter: decodeWaiter(row),
    ...defined({ childrenDigest: row.optional('childrenDigest', (name) => row.string(name)) }),
    ...defined({ countedAt: row.optional('countedAt', (name) => row.count(name)) }),
    nonce: row.string('nonce'),
  };
}

/** As `pending`, unless another program has written one of them. */
export function leftIn(item: DynamoItem): number {
  return new ItemReader(item).count('left');
}

function decodeWaiter(row: ItemReader): Waiter {
  const waiter = row.json('waiter') as unknown as Waiter;
  const kind = (waiter as Waiter | null)?.kind;
  if (kind !== 'task' && kind !== 'nobody') throw row.corrupt('waiter', 'should say who is waiting');
  if (waiter.kind === 'nobody') return waiter;
  const { queue, id } = (waiter.task as Partial<TaskKey> | undefined) ?? {};
  if (typeof queue !== 'string' || typeof id !== 'string')
    throw row.corrupt('waiter', 'should name the task that waits');
  row.ensureNamable('waiter', () => taskKey(queue, id));
  return waiter;
}
