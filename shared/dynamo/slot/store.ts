import type { SlotRecord, SlotStore } from '../../dispatch/store.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { ItemReader } from '../engine/item-reader.ts';
import { Rows } from '../engine/rows.ts';
import type { Sender } from '../engine/send.ts';
import * as statements from './statements.ts';

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
