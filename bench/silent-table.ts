/**
 * The table of `leasehold up` without a stream, for measurements on engines.
 *
 * On AWS a stream costs a write neither time nor money. The embedded engine writes the record within the request, and reads all earlier
 * records of the table to number it: a write that took 1.1 ms at first took 2.9 ms after 12,000 of them (two busy cores, 2026-11-23).
 * DynamoDB Local reads from SQLite, for each request, all that it knows of a stream that the table has or once had: half of its CPU time.
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createDefinedTable, tableDefinition } from '../shared/dynamo/table.ts';

export async function createSilentTable(client: DynamoDBClient, table: string): Promise<void> {
  await createDefinedTable(client, { ...tableDefinition(table), StreamSpecification: { StreamEnabled: false } });
}
