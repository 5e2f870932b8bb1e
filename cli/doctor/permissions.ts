/**
 * Checks whether these credentials have the permissions that the protocol needs: sends each kind of request once, in a form that changes
 * nothing.
 * Writes have a condition that is never true, so a refusal by the condition proves that the request is allowed.
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DIRECTORY_INDEX, READY_INDEX } from '../../shared/dynamo/engine/schema.ts';
import type { Sdk } from '../../shared/dynamo/wire/sdk.ts';
import { loadSdk } from '../../shared/dynamo/wire/sdk.ts';
import { messageOf } from '../../shared/core/errors.ts';
import type { Finding } from './finding.ts';
import { ok, unknown, warning } from './finding.ts';

/**
 * Uses a partition that policies name, because grants are conditional on the partition key (`infra/access.ts`), and a sort key that no row
 * has.
 */
const NOWHERE = { pk: { S: 'lock#doctor' }, sk: { S: 'doctor' } };
const NEVER = { ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(pk)' };

export async function probePermissions(client: DynamoDBClient, table: string): Promise<readonly Finding[]> {
  const target = { TableName: table };
  const sdk = await loadSdk();
  const probes: Readonly<Record<string, () => Promise<unknown>>> = {
    GetItem: () => client.send(new sdk.GetItemCommand({ ...target, Key: NOWHERE })),
    BatchGetItem: () => client.send(new sdk.BatchGetItemCommand({ RequestItems: { [table]: { Keys: [NOWHERE] } } })),
    [`Query on ${READY_INDEX.name}`]: () => client.send(query(sdk, table, READY_INDEX, 'default#normal#0')),
    [`Query on ${DIRECTORY_INDEX.name}`]: () => client.send(query(sdk, table, DIRECTORY_INDEX, 'lock#0')),
    PutItem: () => client.send(new sdk.PutItemCommand({ ...target, Item: NOWHERE, ...NEVER })),
    UpdateItem: () => client.send(new sdk.UpdateItemCommand({ ...target, Key: NOWHERE, ...NEVER })),
    TransactWriteItems: () =>
      client.send(
        new sdk.TransactWriteItemsCommand({
          TransactItems: [{ ConditionCheck: { ...target, Key: NOWHERE, ...NEVER } }],
        }),
      ),
  };
  return Promise.all(Object.entries(probes).map(([action, send]) => judge(`may ${action}`, send)));
}

async function judge(check: string, send: () => Promise<unknown>): Promise<Finding> {
  try {
    await send();
    return ok(check, 'yes');
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (REFUSED_BY_CONDITION.has(name)) return ok(check, 'yes');
    // Whether that is a problem depends on the role: an observer must not write.
    if (name === 'AccessDeniedException') return warning(check, `no: ${messageOf(error)}`, GRANT);
    return unknown(check, `${name}: ${messageOf(error)}`);
  }
}

const GRANT = 'to allow it: grantCoordinate for programs, grantObserve or grantOperate for people';
const REFUSED_BY_CONDITION = new Set(['ConditionalCheckFailedException', 'TransactionCanceledException']);

function query(
  sdk: Sdk,
  table: string,
  index: { readonly name: string; readonly partitionKey: string },
  partition: string,
): InstanceType<Sdk['QueryCommand']> {
  return new sdk.QueryCommand({
    TableName: table,
    IndexName: index.name,
    KeyConditionExpression: '#key = :partition',
    ExpressionAttributeNames: { '#key': index.partitionKey },
    ExpressionAttributeValues: { ':partition': { S: partition } },
    Limit: 1,
  });
}
