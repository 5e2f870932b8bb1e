/** Numbers that the checker can hold. */
import { describe, expect, test } from 'vitest';
import { Names, closer } from './numbers.ts';

const DAY_MS = 86_400_000;

describe('instants for the checker', () => {
  test('keep short distances to the millisecond', () => {
    const moved = closer([1_700_000_000_400, 1_700_000_000_000, 1_700_000_060_000]);

    expect([...moved.values()]).toEqual([1, 401, 60_001]);
  });

  test('keep their order across forty days', () => {
    const moved = closer([100, 100 + 40 * DAY_MS, 101 + 40 * DAY_MS]);

    expect([...moved.values()]).toEqual([1, 10_000_001, 10_000_002]);
  });

  test('fail if they do not fit into its integers', () => {
    const far = Array.from({ length: 300 }, (_, index) => index * DAY_MS);

    expect(() => closer(far)).toThrow('the checker counts to 2147483647');
  });
});

test('names for the checker are numbers in the order of their first use', () => {
  const names = new Names();

  expect(['b', 'a', 'b'].map((name) => names.of(name))).toEqual([1, 2, 1]);
});
