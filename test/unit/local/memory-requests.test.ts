/** The engine in memory reads requests as DynamoDB does: a member that is null is absent, as some languages write it. */
import { expect, test } from 'vitest';
import { decodeInput } from '../../../local/engine/memory-requests.ts';

const KEY = { pk: { S: 'a' }, sk: { S: 'b' } };

test.each([
  ['get', { TableName: 't', Key: KEY, ProjectionExpression: null }, { TableName: 't', Key: { pk: 'a', sk: 'b' } }],
  [
    'query',
    { TableName: 't', ExpressionAttributeValues: { ':p': { S: 'a' } }, ExclusiveStartKey: null, Limit: null },
    { TableName: 't', ExpressionAttributeValues: { ':p': 'a' } },
  ],
  ['put', { TableName: 't', Item: KEY, ConditionExpression: null }, { TableName: 't', Item: { pk: 'a', sk: 'b' } }],
] as const)('%s', (kind, members, input) => {
  expect(decodeInput(kind, members)).toStrictEqual(input);
});
