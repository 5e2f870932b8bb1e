/** The user's own table: orders, the statements of accounts, and the nights that were closed. */
import {
  CreateTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';

export const ORDERS = 'invoices-orders';

/** Where DynamoDB is, the SDK finds out by itself: in the cloud as on a laptop. */
export async function openOrders(): Promise<{ readonly read: (id: string) => Promise<Row | undefined> }> {
  const client = new DynamoDBClient({});
  const creation = new CreateTableCommand({
    TableName: ORDERS,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  });
  await client.send(creation).catch((error: unknown) => {
    // It is there since an earlier run on the same store.
    if (!(error instanceof ResourceInUseException)) throw error;
  });
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1, maxDelay: 1 }, { TableName: ORDERS });
  const documents = DynamoDBDocumentClient.from(client);
  return {
    async read(id) {
      const { Item } = await documents.send(new GetCommand({ TableName: ORDERS, Key: { id }, ConsistentRead: true }));
      return Item as Row | undefined;
    },
  };
}

/** An order, or the statement of an account. */
export interface Row {
  readonly id: string;
  readonly state?: 'new' | 'paid';
  /** How often it was paid: must be 1. */
  readonly charges?: number;
  readonly lines?: readonly string[];
}
