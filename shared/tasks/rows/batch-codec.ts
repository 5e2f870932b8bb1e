import { defined } from '../../core/defined.ts';
import type { BatchRecord, Waiter } from '../task/batch.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';

/** @throws CorruptItemError */
export function decodeBatch(item: DynamoItem): BatchRecord {
  const row = new ItemReader(item);
  const [queue, id] = [row.string('queue'), row.string('id')];
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
  return waiter;
}
