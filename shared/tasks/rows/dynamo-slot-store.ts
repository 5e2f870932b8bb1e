import type { SlotRecord, SlotStore } from '../dispatch/slot-store.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';
import { Rows } from '../../dynamo/engine/rows.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import * as statements from './slot-statements.ts';

export function createSlotStore(sender: Sender, table: string): SlotStore {
  const rows = new Rows(sender, decodeSlot);
  return {
    take: (tick, write) => rows.write(statements.takeSlot(table, tick, write), write),
  };
}

function decodeSlot(item: DynamoItem): SlotRecord {
  const row = new ItemReader(item);
  return {
    schedule: row.string('schedule'),
    slot: row.string('slot'),
    dispatchedAt: row.count('dispatchedAt'),
    by: row.string('by'),
  };
}
