/**
 * The batch row: tasks that are waited for together.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `batch#<queue>#<id>`, `batch` | create |
 * | v | N | schema version | create |
 * | queue, id | S | identity | create |
 * | total | N | children | create |
 * | pending | N | children that have not ended | create, count down |
 * | done, dead, cancelled | N | how those ended that have | create, count down |
 * | waiter | S, JSON | the task that the last one makes due | create |
 * | childrenDigest | S, optional | of the ids of the children, if the user named the batch | create |
 * | nonce | S | of its creation | create |
 * | countedAt | N, epoch ms | when the last end was counted; absent: none, or only the very last | count down |
 * | finishedAt | N, epoch ms | when the last child ended | count down; create, if there is none |
 * | ttl | N, epoch s | set once all have ended | like `finishedAt` |
 */
import { defined } from '../../core/defined.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import type { BatchKey, ChildEnding, NewBatch } from '../task/batch.ts';
import { batchKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import type { TransactionCheck } from '../../dynamo/engine/statement.ts';
import { checkStatement, createStatement, getStatement, updateStatement } from '../../dynamo/engine/statement.ts';

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
    id,
    total,
    pending: total,
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
 * Guard: other children are also pending. A child is counted once, because the transaction that ends it contains this, and its
 * guard is true only once. Effect: as many fewer pending. Outcomes: refused = the last child is among them, or the batch does not exist;
 * the row shows which.
 */
export function countDown(
  table: string,
  { queue, id }: BatchKey,
  ending: ChildEnding,
  { now }: Pick<Stamp, 'now'>,
  children = 1,
): Statement<'update'> {
  return updateStatement('batch.countDown', {
    table,
    key: batchKey(queue, id),
    guard: '#pending > :one',
    effect: `${COUNT[ending]}, #countedAt = :now`,
    values: { ':one': children, ':now': now },
  });
}

/**
 * Guard: only this child is pending.
 * Effect: all have ended.
 * Outcomes: refused = the batch does not exist.
 */
export function countLast(
  table: string,
  { queue, id }: BatchKey,
  ending: ChildEnding,
  { now }: Pick<Stamp, 'now'>,
): Statement<'update'> {
  return updateStatement('batch.countDown', {
    table,
    key: batchKey(queue, id),
    guard: '#pending = :one',
    effect: `${COUNT[ending]}, #finishedAt = :now, #ttl = :ttl`,
    values: { ':one': 1, ':now': now, ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.task) },
  });
}

/**
 * Condition for a task to wait for a batch again.
 * Outcomes: refused = its last child has ended.
 */
export function isPending(table: string, { queue, id }: BatchKey): TransactionCheck {
  return checkStatement(table, batchKey(queue, id), '#pending > :zero', { ':zero': 0 });
}

export const readBatch = (table: string, { queue, id }: BatchKey): Statement<'get'> =>
  getStatement('batch.get', table, batchKey(queue, id));

const COUNT: Readonly<Record<ChildEnding, string>> = {
  done: 'SET #pending = #pending - :one, #done = #done + :one',
  dead: 'SET #pending = #pending - :one, #dead = #dead + :one',
  cancelled: 'SET #pending = #pending - :one, #cancelled = #cancelled + :one',
};
