import { describe, expect, test } from 'vitest';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { increment, TABLE, World } from './world.ts';

const MINUTE_MS = 60_000;

describe('transactWrite', () => {
  test('applies all or nothing, and gives a reason for each refused action', () => {
    const world = new World();
    world.put({ pk: 'a', n: 1 });

    const fault = world.fault('transactWrite', {
      TransactItems: [
        { Put: { TableName: TABLE, Item: { pk: 'b' } } },
        {
          Delete: {
            TableName: TABLE,
            Key: { pk: 'a' },
            ConditionExpression: 'n > :two',
            ExpressionAttributeValues: { ':two': 2 },
            ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          },
        },
        { Update: { TableName: TABLE, Key: { pk: 'c' }, UpdateExpression: 'SET x = gone' } },
      ],
    });

    expect(fault).toMatchObject({ kind: 'transactionCanceled', applied: 'no' });
    expect(fault.reasons).toMatchObject([
      { code: 'None' },
      { code: 'ConditionalCheckFailed', item: { pk: 'a', n: 1 } },
      { code: 'ValidationError' },
    ]);
    expect(world.store.scan(TABLE)).toEqual([{ pk: 'a', n: 1 }]);
  });

  test('names only the first action with an invalid item, before any condition', () => {
    const fault = new World().fault('transactWrite', {
      TransactItems: [
        { Delete: { TableName: TABLE, Key: { pk: 'a' }, ConditionExpression: 'attribute_exists(pk)' } },
        { Put: { TableName: TABLE, Item: { pk: 7 } } },
        { Put: { TableName: TABLE, Item: { pk: 8 } } },
      ],
    });

    expect(fault.reasons.map(({ code }) => code)).toEqual(['None', 'ValidationError', 'None']);
  });

  test.each([
    ['nothing', []],
    ['more than a hundred actions', Array.from({ length: 101 }, (_, at) => increment(String(at)))],
    ['two actions on one item', [increment('a'), { Delete: { TableName: TABLE, Key: { pk: 'a' } } }]],
    [
      'a check beside a write of the same item',
      [
        increment('a'),
        { ConditionCheck: { TableName: TABLE, Key: { pk: 'a' }, ConditionExpression: 'attribute_exists(pk)' } },
      ],
    ],
    ['two actions in one', [{ ...increment('a'), Delete: { TableName: TABLE, Key: { pk: 'b' } } }]],
    [
      'more than 4 MB',
      Array.from({ length: 11 }, (_, at) => ({
        Put: { TableName: TABLE, Item: { pk: String(at), f: 'x'.repeat(399_000) } },
      })),
    ],
  ])('refuses %s', (_, actions) => {
    expect(new World().fault('transactWrite', { TransactItems: actions })).toMatchObject({
      kind: 'rejected',
      code: 'ValidationException',
    });
  });

  test('applies a token once in ten minutes', () => {
    const world = new World();

    world.transact([increment('a')], 'token');
    world.now += 10 * MINUTE_MS - 1;
    world.transact([increment('a')], 'token');
    expect(world.get('a')).toEqual({ pk: 'a', n: 1 });

    world.now += 1;
    world.transact([increment('a')], 'token');
    expect(world.get('a')).toEqual({ pk: 'a', n: 2 });
  });

  test('refuses another transaction under the same token, but not the same with its parameters reordered', () => {
    const world = new World();
    world.transact([{ Put: { TableName: TABLE, Item: { pk: 'a', n: 1 } } }], 'token');

    expect(() => world.transact([{ Put: { Item: { n: 1, pk: 'a' }, TableName: TABLE } }], 'token')).not.toThrow();
    expect(() => world.transact([{ Put: { TableName: TABLE, Item: { pk: 'a', n: 2 } } }], 'token')).toThrow(
      expect.objectContaining({ code: 'IdempotentParameterMismatchException' }),
    );
  });

  test('forgets the token of a transaction that was canceled', () => {
    const world = new World();
    const guarded = { ...increment('a').Update, ConditionExpression: 'attribute_exists(pk)' };

    expect(() => world.transact([{ Update: guarded }], 'token')).toThrow(DynamoFault);
    world.put({ pk: 'a', n: 1 });
    world.transact([{ Update: guarded }], 'token');

    expect(world.get('a')).toEqual({ pk: 'a', n: 2 });
  });
});

describe('consumed capacity', () => {
  test('is reported by the request that asks for it, by table and index', () => {
    const world = new World();
    const asking = { TableName: TABLE, ReturnConsumedCapacity: 'INDEXES' as const };

    const put = world.store.apply('put', { ...asking, Item: { pk: 'a', queue: 'q', readyAt: 1 } });
    const consistent = world.store.apply('get', { ...asking, Key: { pk: 'a' }, ConsistentRead: true });
    const eventual = world.store.apply('get', { ...asking, Key: { pk: 'a' } });
    const ready = world.ready(asking);

    expect(put.ConsumedCapacity).toEqual({
      TableName: TABLE,
      CapacityUnits: 2,
      Table: { CapacityUnits: 1 },
      GlobalSecondaryIndexes: { ready: { CapacityUnits: 1 } },
    });
    expect(consistent.ConsumedCapacity).toMatchObject({ CapacityUnits: 1 });
    expect(eventual.ConsumedCapacity).toMatchObject({ CapacityUnits: 0.5 });
    expect(ready.ConsumedCapacity).toEqual({
      TableName: TABLE,
      CapacityUnits: 0.5,
      Table: { CapacityUnits: 0 },
      GlobalSecondaryIndexes: { ready: { CapacityUnits: 0.5 } },
    });
  });

  test('is reported by transactions with the table doubled, and as reads when they are sent again', () => {
    const world = new World();
    const input = {
      TransactItems: [{ Put: { TableName: TABLE, Item: { pk: 'a', queue: 'q', readyAt: 1 } } }],
      ClientRequestToken: 'token',
      ReturnConsumedCapacity: 'INDEXES' as const,
    };

    const first = world.store.apply('transactWrite', input);
    const second = world.store.apply('transactWrite', input);

    expect(first.ConsumedCapacity).toEqual([
      {
        TableName: TABLE,
        CapacityUnits: 3,
        WriteCapacityUnits: 3,
        Table: { CapacityUnits: 2, WriteCapacityUnits: 2 },
        GlobalSecondaryIndexes: { ready: { CapacityUnits: 1, WriteCapacityUnits: 1 } },
      },
    ]);
    expect(second.ConsumedCapacity).toMatchObject([{ CapacityUnits: 2, ReadCapacityUnits: 2 }]);
  });
});
