/** Tables on an engine, without a client that stays open. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createTable } from '../../shared/dynamo/table.ts';
import { TEST_CLIENT_SETTINGS } from './stores.ts';

export async function newTables(endpoint: string, ...tables: readonly string[]): Promise<void> {
  const client = new DynamoDBClient({ endpoint, ...TEST_CLIENT_SETTINGS });
  for (const table of tables) await createTable(client, table);
  client.destroy();
}
