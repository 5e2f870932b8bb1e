import { describe, expect, test } from 'vitest';
import type { DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';
import { SimulatedDynamo } from '../../../../shared/testing/simulated-dynamo/simulated-dynamo.ts';

const KEY = { pk: 'p' };

function storeWith(attributes: DynamoItem | undefined): SimulatedDynamo {
  const store = new SimulatedDynamo({ now: () => 0 });
  store.createTable({ name: 'table', partition: { name: 'pk', type: 'S' } });
  if (attributes !== undefined) store.apply('put', { TableName: 'table', Item: { ...KEY, ...attributes } });
  return store;
}

function update(
  before: DynamoItem | undefined,
  expression: string,
  values: DynamoItem = {},
  returned: 'ALL_NEW' | 'UPDATED_OLD' | 'UPDATED_NEW' = 'ALL_NEW',
): DynamoItem | undefined {
  const { Attributes } = storeWith(before).apply('update', {
    TableName: 'table',
    Key: KEY,
    UpdateExpression: expression,
    ReturnValues: returned,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  });
  return Attributes;
}

test.each(['REMOVE a', 'DELETE a :v'])('%s makes no item where there is none', (expression) => {
  const store = storeWith(undefined);
  const values = expression.includes(':v') ? { ExpressionAttributeValues: { ':v': new Set(['x']) } } : {};

  store.apply('update', { TableName: 'table', Key: KEY, UpdateExpression: expression, ...values });

  expect(store.scan('table')).toEqual([]);
});

describe('SET', () => {
  test('computes every value from the item as it was', () => {
    expect(update({ a: 1, b: 2 }, 'SET a = b, b = a')).toEqual({ ...KEY, a: 2, b: 1 });
  });

  test.each([
    ['SET a = a + :v', { a: 5 }, { ':v': 2 }, 7],
    ['SET a = :v - a', { a: 5 }, { ':v': 2 }, -3],
    ['SET a = if_not_exists(a, :v)', {}, { ':v': 2 }, 2],
    ['SET a = if_not_exists(a, :v)', { a: null }, { ':v': 2 }, null],
    ['SET a = if_not_exists(a, :v) + :v', {}, { ':v': 2 }, 4],
    ['SET a = list_append(a, :v)', { a: [1] }, { ':v': [2] }, [1, 2]],
    ['SET a = list_append(:v, a)', { a: [1] }, { ':v': [2] }, [2, 1]],
    ['SET a = list_append(if_not_exists(a, :v), :v)', {}, { ':v': [2] }, [2, 2]],
    ['SET a = :v', { a: 1 }, { ':v': null }, null],
  ])('%s of %j with %j', (expression, before, values, expected) => {
    expect(update(before, expression, values)?.a).toEqual(expected);
  });

  test('replaces list elements, and appends those beyond the end in their order', () => {
    expect(
      update({ l: [1, 2] }, 'SET l[0] = :a, l[9] = :c, l[5] = :b', { ':a': 'a', ':b': 'b', ':c': 'c' })?.l,
    ).toEqual(['a', 2, 'b', 'c']);
  });

  test('takes positions from before any change', () => {
    expect(update({ l: [0, 1, 2, 3] }, 'SET l[3] = :v REMOVE l[0], l[1]', { ':v': 'x' })?.l).toEqual([2, 'x']);
  });

  test.each([
    ['SET a = gone', {}, 'refers to an attribute that does not exist'],
    ['SET a = if_not_exists(n, gone)', { n: 1 }, 'refers to an attribute that does not exist'],
    ['SET a = n + s', { n: 1, s: 'x' }, 'incorrect data type'],
    ['SET gone.x = n', { n: 1 }, 'document path provided in the update expression is invalid'],
    ['SET n.x = n', { n: 1 }, 'document path'],
    ['SET l.x = n', { n: 1, l: [] }, 'document path'],
    ['SET m[0] = n', { n: 1, m: {} }, 'document path'],
    ['SET pk = n', { n: 1 }, 'part of the key'],
    ['SET n = n + n + n', { n: 1 }, 'Syntax error'],
    ['SET a = n, a = n', { n: 1 }, 'paths overlap'],
    ['SET m.x = n REMOVE m', { n: 1, m: {} }, 'paths overlap'],
    ['SET m.x = n REMOVE m[0]', { n: 1, m: {} }, 'paths conflict'],
    ['SET a = n SET b = n', { n: 1 }, 'can only be used once'],
    ['SET a = size(l)', { l: [] }, 'not allowed in an update'],
    ['SET a = list_append(list_append(l, l), l)', { l: [] }, 'not allowed to be used this way'],
  ])('refuses %s of %j', (expression, before, message) => {
    expect(() => update(before, expression)).toThrow(message);
  });
});

describe('REMOVE', () => {
  test('ignores a missing attribute, but not an invalid path', () => {
    expect(update({ m: {}, l: [1] }, 'REMOVE gone, m.gone, l[7]')).toEqual({ ...KEY, m: {}, l: [1] });
    expect(() => update({ m: {} }, 'REMOVE gone.x')).toThrow('document path');
  });

  test('creates no item', () => {
    const store = storeWith(undefined);

    store.apply('update', { TableName: 'table', Key: KEY, UpdateExpression: 'REMOVE a.b, c' });

    expect(store.scan('table')).toEqual([]);
  });
});

describe('ADD and DELETE', () => {
  test.each([
    ['ADD n :v', {}, { ':v': 3 }, { n: 3 }],
    ['ADD n :v', { n: 0.1 }, { ':v': 0.2 }, { n: 0.3 }],
    ['ADD u :v', { u: new Set(['a']) }, { ':v': new Set(['a', 'b']) }, { u: new Set(['a', 'b']) }],
    ['DELETE u :v', { u: new Set(['a', 'b']) }, { ':v': new Set(['a', 'c']) }, { u: new Set(['b']) }],
    ['DELETE u :v', { u: new Set(['a']) }, { ':v': new Set(['a']) }, {}],
    ['DELETE u :v', {}, { ':v': new Set(['a']) }, {}],
  ])('%s of %j with %j', (expression, before, values, expected) => {
    expect(update(before, expression, values)).toEqual({ ...KEY, ...expected });
  });

  test.each([
    ['ADD n :v', { n: 'x' }, { ':v': 3 }, 'incorrect data type'],
    ['ADD u :v', { u: new Set(['a']) }, { ':v': new Set([1]) }, 'incorrect data type'],
    ['ADD n :v', {}, { ':v': [1] }, 'Incorrect operand type'],
    ['DELETE u :v', {}, { ':v': 'a' }, 'Incorrect operand type'],
  ])('refuse %s of %j with %j', (expression, before, values, message) => {
    expect(() => update(before, expression, values)).toThrow(message);
  });
});

describe('the answer of an update', () => {
  const before = { a: { b: 1, c: [1, 2, 3] }, d: 'x' };

  test('is only what its paths name, with lists closed up', () => {
    const values = { ':v': 7, ':w': 8 };

    expect(update(before, 'SET a.b = :v, a.c[1] = :w', values, 'UPDATED_OLD')).toEqual({ a: { b: 1, c: [2] } });
    expect(update(before, 'SET a.b = :v, a.c[1] = :w', values, 'UPDATED_NEW')).toEqual({ a: { b: 7, c: [8] } });
  });

  test('is empty if the item was or became missing', () => {
    expect(update(before, 'SET e = :v', { ':v': 1 }, 'UPDATED_OLD')).toBeUndefined();
    expect(update(before, 'REMOVE d', {}, 'UPDATED_NEW')).toBeUndefined();
    expect(update(before, 'SET a.c[9] = :v', { ':v': 1 }, 'UPDATED_NEW')).toBeUndefined();
  });
});
