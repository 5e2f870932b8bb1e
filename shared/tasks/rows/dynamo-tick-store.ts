import type { TickRecord, TickStore } from '../dispatch/tick-store.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';
import { Rows } from '../../dynamo/engine/rows.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import * as statements from './tick-statements.ts';

export function createTickStore(sender: Sender, table: string): TickStore {
  const rows = new Rows(sender, decodeTick);
  return {
    take: (tick, write) => rows.write(statements.takeTick(table, tick, write), write),
  };
}

function decodeTick(item: DynamoItem): TickRecord {
  const row = new ItemReader(item);
  return {
    schedule: row.string('schedule'),
    scheduledTime: row.string('scheduledTime'),
    dispatchedAt: row.count('dispatchedAt'),
    by: row.string('by'),
  };
}
