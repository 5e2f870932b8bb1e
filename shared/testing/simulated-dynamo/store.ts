/** State that all operations share. */
import { missingFault, tableNotFound } from './fault.ts';
import type { IdempotencyTokens } from './idempotency-tokens.ts';
import type { StaleReads } from './stale-reads.ts';
import type { Table } from './table.ts';

export interface Store {
  readonly tables: ReadonlyMap<string, Table>;
  readonly tokens: IdempotencyTokens;
  readonly staleReads: StaleReads;
}

/** @throws DynamoFault */
export function tableOf(store: Store, name: string | undefined): Table {
  if (name === undefined) throw missingFault('tableName');
  const table = store.tables.get(name);
  if (table === undefined) throw tableNotFound(name);
  return table;
}
