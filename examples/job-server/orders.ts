/** The user's own table: orders. An order without a price is listed in the sparse index `new`, and leaves it when it gets a price. */
import {
  CreateTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';

export const ORDERS = 'job-server-orders';
const NEW = 'new';

export interface Order {
  readonly id: string;
  readonly cents: readonly number[];
  /** Absent until it is priced. */
  readonly total?: number;
  /** How often it was priced: must be 1. */
  readonly priced?: number;
}

// Where DynamoDB is, the SDK finds out by itself: in the cloud as on a laptop.
const client = new DynamoDBClient({});
const documents = DynamoDBDocumentClient.from(client);

export async function createOrdersTable(): Promise<void> {
  const attributes = { id: 'S', state: 'S', createdAt: 'N' } as const;
  const creation = new CreateTableCommand({
    TableName: ORDERS,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: Object.entries(attributes).map(([AttributeName, AttributeType]) => ({
      AttributeName,
      AttributeType,
    })),
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    GlobalSecondaryIndexes: [
      {
        IndexName: NEW,
        KeySchema: [
          { AttributeName: 'state', KeyType: 'HASH' },
          { AttributeName: 'createdAt', KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'KEYS_ONLY' },
      },
    ],
  });
  await client.send(creation).catch((error: unknown) => {
    // It is there since an earlier run on the same store.
    if (!(error instanceof ResourceInUseException)) throw error;
  });
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1, maxDelay: 1 }, { TableName: ORDERS });
}

export async function placeOrder(id: string, cents: readonly number[]): Promise<void> {
  const Item = { id, cents, state: NEW, createdAt: Date.now() };
  await documents.send(new PutCommand({ TableName: ORDERS, Item, ConditionExpression: 'attribute_not_exists(id)' }));
}

export async function readOrder(id: string): Promise<Order | undefined> {
  const { Item } = await documents.send(new GetCommand({ TableName: ORDERS, Key: { id }, ConsistentRead: true }));
  return Item as Order | undefined;
}

/** New orders of any age: selected by state, so that a late one is never skipped. */
export async function* newOrders(): AsyncGenerator<string> {
  let next: Record<string, unknown> | undefined;
  do {
    const { Items = [], LastEvaluatedKey } = await documents.send(
      new QueryCommand({
        TableName: ORDERS,
        IndexName: NEW,
        KeyConditionExpression: '#state = :new',
        ExpressionAttributeNames: { '#state': 'state' },
        ExpressionAttributeValues: { ':new': NEW },
        ...(next !== undefined && { ExclusiveStartKey: next }),
      }),
    );
    for (const { id } of Items) yield id as string;
    next = LastEvaluatedKey;
  } while (next !== undefined);
}
