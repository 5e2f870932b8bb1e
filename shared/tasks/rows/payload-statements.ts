/**
 * The payload row: an input that is too large for its task's row.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `payload#<queue>#<task id>`, `payload`; `apart#<nonce>` for a request made while its task ran | put |
 * | v | N | schema version | put |
 * | text | S or B, JSON | the input | put |
 * | nonce | S | of this write; the task's row names it | put |
 * | ttl | N, epoch s | a year after its task was due; it is deleted when its task is done, unless the worker crashes in between | put |
 */
import type { NewTask } from '../task/task-store.ts';
import type { Payload, TaskKey } from '../task/task.ts';
import type { RowKey } from '../../dynamo/engine/keys.ts';
import { payloadApartKey, payloadKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { getStatement, namesIn } from '../../dynamo/engine/statement.ts';
import { storedText } from '../../dynamo/engine/stored-json.ts';

/** Unguarded, because the guard of the transaction that creates its task, or gives it other work, decides for both. */
export function putPayload(
  table: string,
  { queue, id, runAt }: Pick<NewTask, 'queue' | 'id' | 'runAt'>,
  text: string,
  { nonce, isApart = false }: { readonly nonce: string; readonly isApart?: boolean },
): Statement<'put'> {
  const key = rowKeyOf({ queue, id }, { nonce, isApart });
  const ttl = ttlEpochSeconds(runAt, RETENTION_DAYS.payload);
  return {
    verb: 'payload.put',
    kind: 'put',
    input: { TableName: table, Item: { ...key, v: SCHEMA_VERSION, text: storedText(text), nonce, ttl } },
  };
}

/**
 * Guard: it is the expected payload, because the id may already belong to other work.
 * Outcomes: refused = the payload was deleted or replaced.
 */
export function deletePayload(table: string, task: TaskKey, payload: Beside): Statement<'delete'> {
  const guard = '#nonce = :nonce';
  return {
    verb: 'payload.delete',
    kind: 'delete',
    input: {
      TableName: table,
      Key: { ...rowKeyOf(task, payload) },
      ConditionExpression: guard,
      ExpressionAttributeNames: namesIn(guard),
      ExpressionAttributeValues: { ':nonce': payload.nonce },
      ReturnConsumedCapacity: 'TOTAL',
    },
  };
}

export const readPayload = (table: string, task: TaskKey, payload: Beside | undefined): Statement<'get'> =>
  getStatement('payload.get', table, rowKeyOf(task, payload));

type Beside = Pick<Payload, 'nonce' | 'isApart'>;

function rowKeyOf({ queue, id }: TaskKey, { nonce = '', isApart }: Beside = { nonce: '', isApart: false }): RowKey {
  return isApart ? payloadApartKey(queue, id, nonce) : payloadKey(queue, id);
}
