/** The table of effects, as the functions of the evidence use it. */
import { setTimeout as wait } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { EFFECTS_VARIABLE, variable } from './settings.ts';

const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const POLL_MS = 200;
const PATIENCE_MS = 60_000;

export interface EffectRow {
  readonly id: string;
  readonly [name: string]: unknown;
}

export async function putEffect(row: EffectRow): Promise<void> {
  await documents.send(new PutCommand({ TableName: variable(EFFECTS_VARIABLE), Item: row }));
}

/** Polls until the row is there. @throws Error after a minute */
export async function awaitEffect(id: string): Promise<EffectRow> {
  const get = new GetCommand({ TableName: variable(EFFECTS_VARIABLE), Key: { id }, ConsistentRead: true });
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    const { Item } = await documents.send(get);
    if (Item !== undefined) return Item as EffectRow;
    await wait(POLL_MS);
  }
  throw new Error(`after a minute there is still no effect ${id}`);
}
