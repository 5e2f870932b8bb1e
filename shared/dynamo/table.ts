/** Creates and checks the table without the CDK, for laptops and tests. */
import type { CreateTableCommandInput, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DIRECTORY_INDEX, READY_INDEX, TABLE } from './engine/schema.ts';
import { loadSdk } from './wire/sdk.ts';

/** The table as the CDK construct deploys it, as input of CreateTable. */
export function tableDefinition(table: string): CreateTableCommandInput {
  return {
    TableName: table,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: TABLE.partitionKey, AttributeType: 'S' },
      { AttributeName: TABLE.sortKey, AttributeType: 'S' },
      { AttributeName: READY_INDEX.partitionKey, AttributeType: 'S' },
      { AttributeName: READY_INDEX.sortKey, AttributeType: 'N' },
      { AttributeName: DIRECTORY_INDEX.partitionKey, AttributeType: 'S' },
      { AttributeName: DIRECTORY_INDEX.sortKey, AttributeType: 'S' },
    ],
    KeySchema: keySchema(TABLE),
    // The stream is free until it is read, by the waker of deployed queues or by workers on laptops.
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
    GlobalSecondaryIndexes: [READY_INDEX, DIRECTORY_INDEX].map((index) => ({
      IndexName: index.name,
      KeySchema: keySchema(index),
      Projection: { ProjectionType: 'KEYS_ONLY' as const },
    })),
  };
}

/** Creates the table unless it exists. Returns whether it was created. */
export async function createTable(client: DynamoDBClient, table: string): Promise<boolean> {
  return createDefinedTable(client, tableDefinition(table));
}

/** Does the same for a table with settings that differ from the deployed ones. */
export async function createDefinedTable(
  client: DynamoDBClient,
  definition: CreateTableCommandInput,
): Promise<boolean> {
  const { CreateTableCommand, ResourceInUseException, UpdateTimeToLiveCommand, waitUntilTableExists } = await loadSdk();
  try {
    await client.send(new CreateTableCommand(definition));
  } catch (error) {
    if (error instanceof ResourceInUseException) return false;
    throw error;
  }
  await waitUntilTableExists(
    { client, maxWaitTime: 60, minDelay: 0.05, maxDelay: 1 },
    { TableName: definition.TableName },
  );
  await client.send(
    new UpdateTimeToLiveCommand({
      TableName: definition.TableName,
      TimeToLiveSpecification: { AttributeName: TABLE.ttlAttribute, Enabled: true },
    }),
  );
  return true;
}

function keySchema({ partitionKey, sortKey }: { readonly partitionKey: string; readonly sortKey: string }) {
  return [
    { AttributeName: partitionKey, KeyType: 'HASH' as const },
    { AttributeName: sortKey, KeyType: 'RANGE' as const },
  ];
}
