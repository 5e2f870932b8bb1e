/** The token of a transaction: the same write with other actions is another request to the service. */
import { describe, expect, test } from 'vitest';
import { notingTimes, restampedTransaction } from '../../../../shared/dynamo/engine/statement.ts';
import { tokenOf, transactStatement } from '../../../../shared/dynamo/engine/transaction.ts';

const write = { nonce: 'n' };
const put = (value: unknown) => [{ Put: { TableName: 't', Item: { id: 'a', value } } }];

const VALUES = [
  ...[1, 2, '1', 1n, 2n, true, null, '', [1, 2], { a: 1 }, { a: 2 }, { b: 1 }],
  ...[new Set([1]), new Set([2]), new Set(['1']), new Set([1n]), new Uint8Array([1]), new Uint8Array([2])],
];

test('differs with every value that an action can hold, and is the same for the same', () => {
  const tokens = VALUES.map((value) => tokenOf(write, put(value)));

  expect(tokens.map((token, n) => [VALUES[n], tokens.indexOf(token)])).toEqual(VALUES.map((value, n) => [value, n]));
  expect(VALUES.map((value) => tokenOf(write, put(value)))).toEqual(tokens);
});

test('differs with the write and with its actions, fits into a request, and is the nonce of a write alone', () => {
  const [one, other] = [put(1), put(2)];
  const tokens = [
    tokenOf(write, one),
    tokenOf({ nonce: 'm' }, one),
    tokenOf(write, [...one, ...other]),
    tokenOf(write, [...other, ...one]),
  ];

  expect(new Set(tokens).size).toBe(tokens.length);
  for (const token of tokens) expect(token.length).toBeLessThanOrEqual(36);
  expect(tokenOf(write, [])).toBe('n');
});

describe('a transaction that is sent again', () => {
  const at = (now: number) =>
    transactStatement('lock.put', [{ Put: { TableName: 't', Item: { pk: 'a', at: now } } }], 'token');

  test('has the time of its attempt, and a token only at first, because a token belongs to its parameters', () => {
    const { input, restamped } = restampedTransaction(at(1), at);

    expect(input.ClientRequestToken).toBe('token');
    const later = restamped?.(5);
    expect(later?.input).toEqual({
      TransactItems: [{ Put: { TableName: 't', Item: { pk: 'a', at: 5 } } }],
      ReturnConsumedCapacity: 'TOTAL',
    });
    expect(later?.verb).toBe('lock.put');
  });

  test('notes the time of each later attempt, except of an attempt that keeps its time', () => {
    const times = new Set<number>();
    const noted = notingTimes(restampedTransaction(at(1), at), times);

    for (const now of [5, 6, 6, 9]) noted.restamped?.(now);

    expect([...times]).toEqual([5, 6, 9]);
    const plain = at(1);
    expect(notingTimes(plain, times)).toBe(plain);
  });
});
