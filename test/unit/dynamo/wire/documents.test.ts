/** Each kind of request and answer, with every member that holds values of users' rows, and one member without any. */
import { expect, test } from 'vitest';
import type { DynamoCalls, DynamoKind } from '../../../../shared/dynamo/engine/driver.ts';
import { base64 } from '../../../../shared/dynamo/wire/attribute-value.ts';
import { decodeOutput, encodeInput } from '../../../../shared/dynamo/wire/documents.ts';
import { bodyOf, firstTable } from '../../../../shared/dynamo/wire/request-body.ts';

const KEY = { pk: 'a', sk: 1 };
const S = { pk: { S: 'a' }, sk: { N: '1' } };
const VALUES = { ':set': new Set(['x']), ':bytes': Uint8Array.of(1) };
const V = { ':set': { SS: ['x'] }, ':bytes': { B: 'AQ==' } };
const guard = { TableName: 't', ConditionExpression: '#a = :set', ExpressionAttributeNames: { '#a': 'a' } };
const own = { ...guard, ExpressionAttributeValues: VALUES };
const sent = { ...guard, ExpressionAttributeValues: V };

const REQUESTS: { readonly [K in DynamoKind]: readonly [DynamoCalls[K]['input'], object] } = {
  get: [
    { TableName: 't', Key: KEY, ConsistentRead: true },
    { TableName: 't', Key: S, ConsistentRead: true },
  ],
  batchGet: [
    { RequestItems: { t: { Keys: [KEY, KEY], ConsistentRead: true }, u: { Keys: undefined } } },
    { RequestItems: { t: { Keys: [S, S], ConsistentRead: true }, u: { Keys: undefined } } },
  ],
  query: [
    { ...own, ExclusiveStartKey: KEY, Limit: 5 },
    { ...sent, ExclusiveStartKey: S, Limit: 5 },
  ],
  put: [
    { ...own, Item: { ...KEY, m: { b: [true, null] } } },
    { ...sent, Item: { ...S, m: { M: { b: { L: [{ BOOL: true }, { NULL: true }] } } } } },
  ],
  update: [
    { ...own, Key: KEY, UpdateExpression: 'SET a = :set' },
    { ...sent, Key: S, UpdateExpression: 'SET a = :set' },
  ],
  delete: [
    { ...own, Key: KEY },
    { ...sent, Key: S },
  ],
  transactWrite: [
    {
      TransactItems: [
        { Put: { ...own, Item: KEY } },
        { Update: { ...own, Key: KEY, UpdateExpression: 'SET a = :set' }, Delete: undefined },
        { Delete: { ...own, Key: KEY } },
        { ConditionCheck: { ...own, Key: KEY } },
      ],
      ClientRequestToken: 'token',
    },
    {
      TransactItems: [
        { Put: { ...sent, Item: S } },
        { Update: { ...sent, Key: S, UpdateExpression: 'SET a = :set' }, Delete: undefined },
        { Delete: { ...sent, Key: S } },
        { ConditionCheck: { ...sent, Key: S } },
      ],
      ClientRequestToken: 'token',
    },
  ],
};

test.each(Object.keys(REQUESTS) as DynamoKind[])('a request of the kind %s is sent with its values', (kind) => {
  const [input, members] = REQUESTS[kind] as readonly [DynamoCalls['get']['input'], object];

  expect(encodeInput(kind as 'get', input, base64)).toEqual(members);
  expect(JSON.parse(bodyOf(kind as 'get', input, { unique: () => 'new' }))).toEqual(
    JSON.parse(JSON.stringify(members)),
  );
});

test('a transaction without a token gets one of its own, and no other request does', () => {
  const ids = { unique: () => 'new' };

  expect(JSON.parse(bodyOf('transactWrite', { TransactItems: [] }, ids))).toEqual({
    TransactItems: [],
    ClientRequestToken: 'new',
  });
  expect(JSON.parse(bodyOf('put', { TableName: 't', Item: KEY }, ids))).toEqual({ TableName: 't', Item: S });
});

test.each<[DynamoKind, object, object]>([
  ['get', { Item: S, ConsumedCapacity: { CapacityUnits: 1 } }, { Item: KEY, ConsumedCapacity: { CapacityUnits: 1 } }],
  ['get', {}, {}],
  ['update', { Attributes: S }, { Attributes: KEY }],
  ['query', { Items: [S], Count: 1, LastEvaluatedKey: S }, { Items: [KEY], Count: 1, LastEvaluatedKey: KEY }],
  [
    'batchGet',
    { Responses: { t: [S], u: [] }, UnprocessedKeys: { t: { Keys: [S, S], ConsistentRead: true } } },
    { Responses: { t: [KEY], u: [] }, UnprocessedKeys: { t: { Keys: [KEY, KEY], ConsistentRead: true } } },
  ],
  ['batchGet', {}, {}],
])('the answer to a %s is read with its values', (kind, output, read) => {
  expect(decodeOutput(kind, output as Readonly<Record<string, unknown>>)).toEqual(read);
});

test.each<[DynamoKind, object]>([
  ['query', { Items: {} }],
  ['batchGet', { Responses: { t: {} } }],
  ['batchGet', { UnprocessedKeys: { t: {} } }],
])('an answer to a %s without a list is refused', (kind, output) => {
  expect(() => decodeOutput(kind, output as Readonly<Record<string, unknown>>)).toThrow('a response lacks a list');
});

test.each<[DynamoKind, object, string]>([
  ['put', { Item: { a: { b: NaN } } }, 'Item.a.b = NaN cannot be stored'],
  ['get', { Key: { pk: NaN } }, 'Key.pk = NaN'],
  ['query', { ExclusiveStartKey: { pk: NaN } }, 'ExclusiveStartKey.pk = NaN'],
  ['update', { ExpressionAttributeValues: { ':a': NaN } }, 'ExpressionAttributeValues.:a = NaN'],
  ['batchGet', { RequestItems: { t: { Keys: [{ pk: NaN }] } } }, 'Keys.pk = NaN'],
  ['transactWrite', { TransactItems: [{}, { Put: { Item: { a: NaN } } }] }, 'TransactItems[1].Put.Item.a = NaN'],
])('a value of a %s that cannot be stored is named by its path', (kind, input, message) => {
  expect(() => bodyOf(kind as 'put', input as DynamoCalls['put']['input'], { unique: () => 'id' })).toThrow(
    expect.objectContaining({
      kind: 'rejected',
      code: 'UnstorableValue',
      message: expect.stringContaining(message) as string,
    }),
  );
});

test.each<[object, string]>([
  [{ TableName: 't' }, 't'],
  [{}, ''],
  [{ RequestItems: { t: {}, u: {} } }, 't'],
  [{ RequestItems: undefined }, ''],
  [{ TransactItems: [{ Put: { TableName: 't' } }, { Put: { TableName: 'u' } }] }, 't'],
  [{ TransactItems: [] }, ''],
])('the first table of %o is %j', (input, table) => {
  expect(firstTable(input as DynamoCalls['get']['input'])).toBe(table);
});
