/** Rows as the statements write them, and their write units. */
import type { SizedItem, TableShape } from '../../dynamo/engine/capacity.ts';
import { inTransaction, refusedUnits, sized, writeUnits } from '../../dynamo/engine/capacity.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { DIRECTORY_INDEX, READY_INDEX, TABLE } from '../../dynamo/engine/schema.ts';

/** Units of the table and of each index separately, because each has its own throughput limit. */
export interface VerbUnits {
  readonly table: number;
  readonly readyIndex: number;
  readonly directoryIndex: number;
  readonly total: number;
}

/** The table's shape for the capacity model. */
export const TABLE_SHAPE: TableShape = {
  keys: [TABLE.partitionKey, TABLE.sortKey],
  indexes: [READY_INDEX, DIRECTORY_INDEX].map(({ name, partitionKey, sortKey }) => ({
    name,
    keys: [partitionKey, sortKey],
    projection: 'KEYS_ONLY',
  })),
};

/** The service's overhead per stored row. */
export const STORAGE_OVERHEAD_BYTES = 100;
/** Any time: all timestamps of this century have the same length. */
export const NOW = 1_795_000_000_123;
export const UUID = '00000000-0000-4000-8000-000000000000';
export const STAMP = { now: NOW, nonce: UUID };

export function unitsOf(before: DynamoItem | undefined, after: DynamoItem): VerbUnits {
  return verbUnits(writeUnits(TABLE_SHAPE, size(before), sized(after)));
}

export function verbUnits({ table, indexes }: ReturnType<typeof writeUnits>): VerbUnits {
  const readyIndex = indexes[READY_INDEX.name] ?? 0;
  const directoryIndex = indexes[DIRECTORY_INDEX.name] ?? 0;
  return { table, readyIndex, directoryIndex, total: table + readyIndex + directoryIndex };
}

/** The units of two writes in one request. */
export function together(one: VerbUnits, other: VerbUnits): VerbUnits {
  return {
    table: one.table + other.table,
    readyIndex: one.readyIndex + other.readyIndex,
    directoryIndex: one.directoryIndex + other.directoryIndex,
    total: one.total + other.total,
  };
}

/** Units of one row of the table if its index entries do not change. */
export function tableOnly(table: number): VerbUnits {
  return verbUnits({ table, indexes: {} });
}

/** A transaction that was refused costs what its writes cost; one write of the row then bars late copies of it. */
export function refusedCommitUnits(running: DynamoItem, barred: DynamoItem, items: number): VerbUnits {
  const own = verbUnits(inTransaction(refusedUnits(sized(running))));
  return together(together(own, tableOnly(2 * items)), unitsOf(running, barred));
}

function size(item: DynamoItem | undefined): SizedItem | undefined {
  return item === undefined ? undefined : sized(item);
}
