/** What all operations work on. */
import type { CapacityMeter } from './capacity-meter.ts';
import { tableNotFound, validationFault } from './fault.ts';
import type { IdempotencyTokens } from './idempotency-tokens.ts';
import type { StaleReads } from './stale-reads.ts';
import type { Table } from './table.ts';

export interface Store {
  readonly tables: ReadonlyMap<string, Table>;
  readonly tokens: IdempotencyTokens;
  readonly meter: CapacityMeter;
  readonly staleReads: StaleReads;
}

/** @throws DynamoFault */
export function tableOf(store: Store, name: string | undefined): Table {
  if (name === undefined) {
    throw validationFault(
      "1 validation error detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null",
    );
  }
  const table = store.tables.get(name);
  if (table === undefined) throw tableNotFound(name);
  return table;
}
