/**
 * The entries of an index partition that lead to rows of the queue that the partition is of.
 *
 * An index key is an attribute, and a policy sees only the key of the row that it is written into. So a principal of another queue can
 * put entries into this one's partitions. To read such a row together with one's own is refused as a whole, so it is dropped here,
 * before any entry becomes a hint.
 */
import { CorruptItemError } from '../../core/errors.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { joinKey } from '../../dynamo/engine/keys.ts';

interface EntriesOf {
  readonly kind: 'task' | 'schedule';
  readonly queue: string;
}

/** @param onDamaged is told of each that is dropped */
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
