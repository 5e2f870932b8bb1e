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
import type { TaskKey } from '../task/task.ts';
import { payloadKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { getStatement } from '../../dynamo/engine/statement.ts';
import { storedText } from '../../dynamo/engine/stored-json.ts';

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
