import { NumberValueImpl as NumberValue } from '@aws-sdk/util-dynamodb';
import { describe, expect, test } from 'vitest';
import type { StoredNumber } from '../../../../shared/testing/simulated-dynamo/exact-number.ts';
import {
  addNumbers,
  compareNumbers,
  ExactNumber,
  storedNumber,
  subtractNumbers,
} from '../../../../shared/testing/simulated-dynamo/exact-number.ts';

const text = (value: StoredNumber): string => String(value);
const wide = (digits: string): StoredNumber => storedNumber(NumberValue.from(digits));

describe('storedNumber', () => {
  test.each([
    ['1.50', 1.5],
    ['007', 7],
    ['-0', 0],
    ['1e3', 1000],
    ['9007199254740993', 9007199254740993n],
    ['1e21', 10n ** 21n],
    ['0.1', 0.1],
  ])('has one form for %s', (given, expected) => {
    expect(wide(given)).toStrictEqual(expected);
  });

  test('keeps digits that JavaScript numbers do not have', () => {
    expect(wide('0.12345678901234567890')).toStrictEqual(new ExactNumber('0.1234567890123456789'));
  });

  test.each([
    ['123456789012345678901234567890123456789', '38 significant digits'],
    ['1e126', 'overflow'],
    ['1e-131', 'underflow'],
    ['ten', 'cannot be converted to a numeric value'],
  ])('refuses %s', (given, message) => {
    expect(() => wide(given)).toThrow(message);
  });

  test('refuses JavaScript numbers that are no longer exact', () => {
    expect(() => storedNumber(2 ** 53)).toThrow('not exact');
    expect(() => storedNumber(NaN)).toThrow('not allowed');
  });
});

describe('arithmetic', () => {
  test('is decimal', () => {
    expect(addNumbers(0.1, 0.2)).toBe(0.3);
    expect(subtractNumbers(0.3, 0.1)).toBe(0.2);
    expect(text(addNumbers(0.1, wide('1e-30')))).toBe('0.100000000000000000000000000001');
  });

  test("continues beyond JavaScript's integers", () => {
    expect(addNumbers(Number.MAX_SAFE_INTEGER, 2)).toBe(9007199254740993n);
    expect(subtractNumbers(9007199254740993n, 9007199254740993n)).toBe(0);
  });

  test('refuses what it would have to round', () => {
    expect(() => addNumbers(1, wide('1e-40'))).toThrow('38 significant digits');
  });
});

describe('compareNumbers', () => {
  test('orders all forms among each other', () => {
    const ascending = [-(10n ** 30n), -1.5, 0, wide('1e-130'), wide('0.12345678901234567890'), 0.5, 10n ** 30n];
    const sorted = ascending.toReversed().sort(compareNumbers);

    expect(sorted.map(text)).toEqual(ascending.map(text));
  });
});
