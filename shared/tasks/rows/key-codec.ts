import type { KeyState } from '../task/key-limit.ts';
import { IDLE_KEY } from '../task/key-limit.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';

/** @param item undefined: no task of the key has ever run, or TTL deleted its row */
export function decodeKey(item: DynamoItem | undefined): KeyState {
  if (item === undefined) return IDLE_KEY;
  const row = new ItemReader(item);
  const count = (attribute: string): number => row.count(attribute);
  return {
    running: row.optional('running', count) ?? 0,
    window: row.optional('window', count),
    started: row.optional('started', count) ?? 0,
    enteredAt: row.optional('enteredAt', count),
  };
}
