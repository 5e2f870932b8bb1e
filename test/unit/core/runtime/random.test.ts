/** Chance, as every user of it relies on: whole numbers within their range, fair shuffles, and jitter from zero to the bound. */
import { expect, test } from 'vitest';
import { fullJitterMs, integerBetween, shuffled } from '../../../../shared/core/runtime/random.ts';

const drawing = (draws: readonly number[]) => {
  const rest = [...draws];
  return { next: () => rest.shift() ?? 0.5 };
};
const ALMOST_1 = 1 - 2 ** -53;

test('draws whole numbers from the lowest to just below the highest', () => {
  expect([0, 0.5, ALMOST_1].map((draw) => integerBetween({ next: () => draw }, 3, 6))).toEqual([3, 4, 5]);
});

test('shuffles a copy: any item may come to any place, or keep its own', () => {
  const items = ['a', 'b', 'c'];
  const sixths = [1 / 6, 1 / 2, 5 / 6];
  const orders = sixths.flatMap((first) =>
    [0.25, 0.75].map((second) => shuffled(drawing([first, second]), items).join('')),
  );

  expect(orders.sort()).toEqual(['abc', 'acb', 'bac', 'bca', 'cab', 'cba']);
  expect(items).toEqual(['a', 'b', 'c']);
  expect(shuffled(drawing([]), [])).toEqual([]);
});

test.each([
  [1, 0, 0],
  [1, ALMOST_1, 99],
  [2, ALMOST_1, 199],
  [3, ALMOST_1, 399],
  [4, ALMOST_1, 499],
  [4, 0.5, 250],
  [2_000, ALMOST_1, 499],
])('a pause after attempt %d, at a draw of %d, is %d ms', (attempt, draw, ms) => {
  expect(fullJitterMs({ next: () => draw }, { baseMs: 100, capMs: 500 }, attempt)).toBe(ms);
});
