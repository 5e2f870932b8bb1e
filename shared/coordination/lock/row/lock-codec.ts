import type { ForcedRelease, LockRecord } from '../lock-record.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import { splitKey } from '../../../dynamo/engine/keys.ts';

/** @throws CorruptItemError */
export function decodeLock(item: DynamoItem): LockRecord {
  const row = new ItemReader(item);
  const [, key = ''] = splitKey(row.key);
  const count = (attribute: string): number => row.count(attribute);
  const createdAt = row.optional('createdAt', count);
  const facts = {
    key,
    leaseCounter: row.optional('leaseCounter', count) ?? 0,
    modifyIndex: row.count('modifyIndex'),
    entry:
      createdAt === undefined
        ? undefined
        : {
            value: row.optional('value', (attribute) => row.string(attribute)),
            createdAt,
            ...(row.has('consul') ? { consul: row.map('consul') } : {}),
          },
    notBefore: row.optional('notBefore', count) ?? 0,
    freedAt: row.optional('freedAt', count) ?? 0,
    nonce: row.string('nonce'),
    lastForced: row.nested('forced', decodeForced),
  };
  if (!row.has('session')) return { ...facts, state: 'free' };
  return { ...facts, state: 'held', session: row.session('session'), acquiredAt: row.count('acquiredAt') };
}

function decodeForced(forced: ItemReader): ForcedRelease {
  return {
    by: forced.string('by'),
    reason: forced.string('reason'),
    at: forced.number('at'),
    session: forced.string('session'),
    leaseCounter: forced.number('leaseCounter'),
  };
}
