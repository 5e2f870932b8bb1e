/**
 * The payload row: an input that is too large for its task's row.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `payload#<queue>#<task id>`, `nonce#<nonce>` | put |
 * | v | N | schema version | put |
 * | text | S or B, JSON | the input | put |
 * | nonce | S | of this write; the task's row names it | put |
 * | ttl | N, epoch s | a year after its task was due | put |
 *
 * It is put before the row of its task, outside of its transaction, in which each KB would cost twice. It is deleted when its task is done,
 * or was not created after all. TTL deletes what a crash in between leaves.
 */
import type { NewPayload, NewTask, PayloadPlace } from '../task/task-store.ts';
import type { TaskKey, Claim } from '../task/task.ts';
import { payloadKey, failureKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { getStatement, createStatement } from '../../dynamo/engine/statement.ts';
import { storedText } from '../../dynamo/engine/stored-json.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import { WRITE_UNIT_BYTES, itemSizeBytes } from '../../dynamo/engine/capacity.ts';

/** Unguarded, because its key names this request: a repeated put writes the same row. */
export function putPayload(
  table: string,
  { queue, id, runAt }: Pick<NewTask, 'queue' | 'id' | 'runAt'>,
  { text }: Pick<NewPayload, 'text'>,
  nonce: string,
): Statement<'put'> {
  const row = { v: SCHEMA_VERSION, text: storedText(text), nonce, ttl: ttlEpochSeconds(runAt, RETENTION_DAYS.payload) };
  return {
    verb: 'payload.put',
    kind: 'put',
    input: { TableName: table, Item: { ...payloadKey(queue, id, nonce), ...row }, ReturnConsumedCapacity: 'TOTAL' },
  };
}

/** Unguarded, because its key names the request that put it: no other work has this payload. */
export function deletePayload(table: string, task: TaskKey, payload: PayloadPlace): Statement<'delete'> {
  return {
    verb: 'payload.delete',
    kind: 'delete',
    input: { TableName: table, Key: { ...rowKeyOf(task, payload) }, ReturnConsumedCapacity: 'TOTAL' },
  };
}

export const readPayload = (table: string, task: TaskKey, payload: PayloadPlace): Statement<'get'> =>
  getStatement('payload.get', table, rowKeyOf(task, payload));

function rowKeyOf({ queue, id }: TaskKey, { nonce = '' }: PayloadPlace) {
  return payloadKey(queue, id, nonce);
}

/**
 * The failure row: stack of a task's last failed attempt.
 * It is a separate row, so that later writes of the task do not pay for it.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `failure#<queue>#<task id>`, `failure` | keep |
 * | v | N | schema version | keep |
 * | text | S | the stacks of the error and its causes | keep |
 * | leaseCounter | N | of the attempt | keep |
 * | nonce | S | of this write | keep |
 * | ttl | N, epoch s | when the row of a task that died of this failure is deleted | keep |
 */

/** Costs two write units for each failed attempt. */
const ROW_LIMIT_BYTES = 2 * WRITE_UNIT_BYTES;

/**
 * Guard: no stack is stored, or an earlier claim's.
 * Effect: this stack is stored, as much of it as fits.
 * Outcomes: refused = a later attempt has failed since.
 */
export function putFailure(table: string, claim: Claim, stack: string, { now, nonce }: Stamp): Statement<'put'> {
  const { queue, id, leaseCounter } = claim;
  const guard = 'attribute_not_exists(#pk) OR #leaseCounter < :counter';
  const row = {
    ...failureKey(queue, id),
    v: SCHEMA_VERSION,
    leaseCounter,
    nonce,
    ttl: ttlEpochSeconds(now, RETENTION_DAYS.task),
  };
  const text = firstBytes(stack, ROW_LIMIT_BYTES - itemSizeBytes({ ...row, text: '' }));
  return createStatement('failure.keep', table, { ...row, text }, { guard, values: { ':counter': leaseCounter } });
}

export const readFailure = (table: string, { queue, id }: TaskKey): Statement<'get'> =>
  getStatement('failure.get', table, failureKey(queue, id));

/** Omits a character that would be cut in two. */
function firstBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= limit
    ? text
    : bytes
        .subarray(0, Math.max(0, limit))
        .toString()
        .replace(/\ufffd+$/, '');
}
