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
import type { Stamp } from '../../core/lease/write.ts';
import type { Claim, TaskKey } from '../task/task.ts';
import { WRITE_UNIT_BYTES, itemSizeBytes } from '../../dynamo/engine/capacity.ts';
import { failureKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { createStatement, getStatement } from '../../dynamo/engine/statement.ts';

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
