import type { CheckRecord } from '../health.ts';
import { CHECK_STATUSES } from '../health.ts';
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { ItemReader } from '../../../shared/dynamo/engine/item-reader.ts';

/** @throws CorruptItemError */
export function decodeCheck(item: DynamoItem): CheckRecord {
  const row = new ItemReader(item);
  const [node, id] = [row.string('node'), row.string('id')];
  row.ensureKey(['check', node, id]);
  return {
    node,
    id,
    status: row.oneOf('status', CHECK_STATUSES),
    note: row.string('note'),
    ttlMs: row.numberOrNull('ttlMs'),
    expiresAt: row.numberOrNull('expiresAt'),
    updatedAt: row.count('updatedAt'),
    nonce: row.string('nonce'),
  };
}
