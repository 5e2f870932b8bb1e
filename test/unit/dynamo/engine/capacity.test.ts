import { describe, expect, test } from 'vitest';
import type { TableShape } from '../../../../shared/dynamo/engine/capacity.ts';
import {
  inTransaction,
  itemSizeBytes,
  numberSizeBytes,
  readUnitsOfBytes,
  refusedUnits,
  replayUnits,
  sized,
  valueSizeBytes,
  writeUnits,
} from '../../../../shared/dynamo/engine/capacity.ts';
import type { DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';

/** Measured on the service, and on DynamoDB Local, by how much else fits with it into 400 KB. */
describe('numberSizeBytes', () => {
  test.each([
    [0, 1],
    [1, 2],
    [10, 2],
    [100, 2],
    [12, 2],
    [120, 3],
    [123, 3],
    [1_234_567, 5],
    [1_010, 3],
    [1_700_000_000_001, 8],
    [-1, 3],
    [-12_345, 5],
    [0.1, 2],
    [0.12, 2],
    [0.001, 2],
    [1.5, 3],
    [123.45, 4],
    [100.5, 4],
    [-0.15, 3],
    [1e-7, 2],
    [10n ** 125n, 2],
    [12345678901234567890123456789012345678n, 20],
  ])('%s takes %i bytes', (value, bytes) => {
    expect(numberSizeBytes(value)).toBe(bytes);
  });
});

describe('valueSizeBytes', () => {
  test.each([
    ['é😀', 6],
    ['x'.repeat(100), 100],
    ['', 0],
    [true, 1],
    [null, 1],
    [new Uint8Array(7), 7],
    [[], 3],
    [[1, 'ab'], 3 + 2 + 2 + 2],
    [{}, 3],
    [{ a: 1 }, 3 + 1 + 1 + 2],
    [new Set(['ab', 'c']), 3],
    [new Set([1, 22]), 4],
  ])('%j takes %i bytes', (value, bytes) => {
    expect(valueSizeBytes(value)).toBe(bytes);
  });

  test('an item is its names and values', () => {
    expect(itemSizeBytes({ pk: 'abc', n: 12, é: null })).toBe(2 + 3 + 1 + 2 + 2 + 1);
  });
});

const TABLE: TableShape = {
  keys: ['pk'],
  indexes: [
    { name: 'keys', keys: ['gpk', 'gsk'], projection: 'KEYS_ONLY' },
    { name: 'all', keys: ['gpk'], projection: 'ALL' },
    { name: 'some', keys: ['gpk', 'gsk'], projection: { include: ['a'] } },
  ],
};

function cost(before: DynamoItem | undefined, after: DynamoItem | undefined): Record<string, number> {
  const { table, indexes } = writeUnits(TABLE, before && sized(before), after && sized(after));
  return { table, ...indexes };
}

describe('writeUnits', () => {
  const kilobytes = (count: number): string => 'x'.repeat(count * 1024 - 20);
  const indexed = { pk: 'p', gpk: 'g', gsk: 1, a: 1 };

  test.each([
    ['a new item', undefined, { pk: 'p' }, { table: 1 }],
    ['a new item in every index', undefined, indexed, { table: 1, keys: 1, all: 1, some: 1 }],
    ['an item that lacks one key of an index', undefined, { pk: 'p', gpk: 'g' }, { table: 1, all: 1 }],
    ['the same item again', indexed, { ...indexed }, { table: 1 }],
    ['a change of a projected attribute', indexed, { ...indexed, a: 2 }, { table: 1, all: 1, some: 1 }],
    ['a change of an attribute that is not projected', indexed, { ...indexed, z: 1 }, { table: 1, all: 1 }],
    ['a change of an index key', indexed, { ...indexed, gsk: 2 }, { table: 1, keys: 2, all: 1, some: 2 }],
    ['leaving an index', indexed, { pk: 'p', gpk: 'g', a: 1 }, { table: 1, keys: 1, all: 1, some: 1 }],
    ['deleting', indexed, undefined, { table: 1, keys: 1, all: 1, some: 1 }],
    ['deleting nothing', undefined, undefined, { table: 1 }],
    ['growing', { pk: 'p' }, { pk: 'p', z: kilobytes(3) }, { table: 3 }],
    ['shrinking', { pk: 'p', z: kilobytes(3) }, { pk: 'p' }, { table: 3 }],
    ['deleting a large item', { pk: 'p', z: kilobytes(3) }, undefined, { table: 3 }],
    [
      'a set whose members come in another order',
      { ...indexed, a: new Set([1, 2]) },
      { ...indexed, a: new Set([2, 1]) },
      { table: 1 },
    ],
    [
      'moving a large entry, both halves by what is projected',
      { ...indexed, a: kilobytes(2), z: kilobytes(3) },
      { ...indexed, a: kilobytes(2), z: kilobytes(3), gpk: 'h' },
      { table: 5, keys: 2, all: 10, some: 4 },
    ],
  ])('charges %s', (_, before, after, expected) => {
    expect(cost(before, after)).toEqual(expected);
  });

  test('doubles the table in a transaction, and not the indexes', () => {
    expect(inTransaction(writeUnits(TABLE, undefined, sized(indexed)))).toEqual({
      table: 2,
      indexes: { keys: 1, all: 1, some: 1 },
    });
  });

  test('rounds at the byte', () => {
    const fill = (bytes: number): DynamoItem => ({ pk: 'p', z: 'x'.repeat(bytes - 4) });

    expect(cost(undefined, fill(1024))).toEqual({ table: 1 });
    expect(cost(undefined, fill(1025))).toEqual({ table: 2 });
  });
});

describe('other charges', () => {
  test('a false condition costs what the item that made it false weighs, at least one unit', () => {
    expect(refusedUnits(undefined).table).toBe(1);
    expect(refusedUnits(sized({ pk: 'p', z: 'x'.repeat(2000) })).table).toBe(2);
  });

  test('reads go by 4 KB, half if they may be stale, and nothing costs as much as little', () => {
    expect(readUnitsOfBytes(0, { consistent: true })).toBe(1);
    expect(readUnitsOfBytes(0, { consistent: false })).toBe(0.5);
    expect(readUnitsOfBytes(4096, { consistent: true })).toBe(1);
    expect(readUnitsOfBytes(4097, { consistent: false })).toBe(1);
  });

  test('a transaction sent again is charged as a transactional read', () => {
    expect(replayUnits(1500)).toBe(2);
    expect(replayUnits(9 * 1024)).toBe(6);
  });
});
