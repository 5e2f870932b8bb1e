import { describe, expect, test } from 'vitest';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { increment, TABLE, World } from './world.ts';

const MINUTE_MS = 60_000;

describe('transactWrite', () => {
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
