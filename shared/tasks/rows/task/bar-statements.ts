/**
 * The bar of new tasks: a row in the place of a task, which refuses late copies of enqueues with their callers' writes.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | of the task | bar |
 * | v | N | schema version | bar |
 * | barred | S | the nonces of the calls whose copies are refused | bar |
 * | nonce | S | of the last of them | bar |
 *
 * A condition of the caller's refuses such an enqueue, and the task's row may be absent then: a copy that the network delivers later could
 * be applied, when the condition is true. Therefore, if an attempt had no response, the bar follows the refusal. After a response there is
 * no bar: TLS does not deliver a request twice, and each refused call would leave a row.
 * Readers do not see it, and the next task of the id is written over it. Nothing else deletes it, since producers may not write `ttl`.
 */
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { taskKey } from '../../../dynamo/engine/keys.ts';
import { SCHEMA_VERSION } from '../../../dynamo/engine/schema.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { createStatement } from '../../../dynamo/engine/statement.ts';
import type { TaskKey } from '../../task/task.ts';

/** Guard of a new task. Uses the value `:nonce`. */
export const HAS_NO_TASK = 'attribute_not_exists(#pk) OR (attribute_exists(#barred) AND NOT contains(#barred, :nonce))';

/**
 * Guard: no row, or the bar that was seen.
 * Effect: a task with this nonce is never written here.
 * Outcomes: refused = a task is there, perhaps of an earlier copy, or another bar.
 */
export function barTask(table: string, { queue, id }: TaskKey, nonce: string, seen?: DynamoItem): Statement<'put'> {
  const barred = seen === undefined ? nonce : `${String(seen.barred)} ${nonce}`;
  const bar = { ...taskKey(queue, id), v: SCHEMA_VERSION, barred, nonce };
  const over = seen && { guard: '#nonce = :observedNonce', values: { ':observedNonce': seen.nonce } };
  return createStatement('task.barNew', table, bar, over);
}

export function isBarredBy(item: DynamoItem | undefined, nonce: string): boolean {
  return typeof item?.barred === 'string' && item.barred.includes(nonce);
}
