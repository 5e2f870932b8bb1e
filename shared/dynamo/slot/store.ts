import type { SlotRecord, SlotStore } from '../../dispatch/store.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { ItemReader } from '../engine/item-reader.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import type { Sender } from '../engine/send.ts';
import * as statements from './statements.ts';

export function createSlotStore(sender: Sender, table: string): SlotStore {
  return {
    async take(tick, write, limits) {
      const statement = statements.takeSlot(table, tick, write);
      return outcomeOf(
        await sender.write(statement, write.nonce, limits),
        decodeSlot,
        decodeSlot,
        statement.input.Item,
      );
    },
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
