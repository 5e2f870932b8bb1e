import { describe, expect, test } from 'vitest';
import { take } from '../../../../shared/core/runtime/take.ts';

describe('take', () => {
  /** A list that knows how far it was read, and whether its reader let go of it. */
  function listOf(count: number) {
    const seen = { read: 0, isOver: false };
    async function* rows(): AsyncGenerator<number> {
      try {
        for (let row = 1; row <= count; row++) {
          seen.read = row;
          yield await Promise.resolve(row);
        }
      } finally {
        seen.isOver = true;
      }
    }
    return { seen, rows: rows() };
  }

  test.each([
    { count: 0, rows: [], more: false },
    { count: 1, rows: [1], more: false },
    { count: 2, rows: [1, 2], more: false },
    { count: 3, rows: [1, 2], more: true },
  ])('takes 2 of $count', async ({ count, rows, more }) => {
    expect(await take(listOf(count).rows, 2)).toEqual({ rows, more });
  });
});
