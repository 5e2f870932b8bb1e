/**
 * Filters an index partition for entries that lead to rows of the partition's own queue.
 *
 * An index key is a normal attribute, and an IAM policy only checks the key of the row that contains it. So a principal of another queue
 * can put entries into this queue's partitions. A batch read of such a row with own rows would be refused as a whole, so this module drops
 * the entry first.
 */
import { CorruptItemError } from '../../core/errors.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { joinKey } from '../../dynamo/engine/keys.ts';

interface EntriesOf {
  readonly kind: 'task' | 'schedule';
  readonly queue: string;
}

/** @param onDamaged called for each dropped entry */
export function ownEntries(
  items: readonly DynamoItem[] = [],
  { kind, queue }: EntriesOf,
  onDamaged?: (error: unknown) => void,
): readonly DynamoItem[] {
  const prefix = `${joinKey([kind, queue])}#`;
  return items.filter(({ pk, sk }) => {
    const key = String(pk);
    if (key.startsWith(prefix) && sk === kind) return true;
    onDamaged?.(new CorruptItemError(key, 'its index key', `says that it is a ${kind} of queue ${queue}`));
    return false;
  });
}
