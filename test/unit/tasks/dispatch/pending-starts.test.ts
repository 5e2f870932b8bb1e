import { describe, expect, test } from 'vitest';
import { PendingStarts } from '../../../../shared/tasks/dispatch/pending-starts.ts';

const NOTHING = { ids: [], since: 0 };

describe('PendingStarts', () => {
  test('counts started workers until they appear in the permits', () => {
    const starts = new PendingStarts();
    starts.learn(starts.plus(10, 5, 0, NOTHING));

    expect(starts.count(5, 1_000)).toBe(10);
    expect(starts.count(8, 1_500)).toBe(7);
    expect(starts.count(15, 1_900)).toBe(0);
  });

  test('adds starts made in the meantime', () => {
    const starts = new PendingStarts();
    starts.learn(starts.plus(3, 0, 0, NOTHING));
    starts.learn(starts.plus(2, 1, 500, NOTHING));

    expect(starts.count(1, 600)).toBe(4);
    expect(starts.count(3, 700)).toBe(2);
  });

  test('gives up an invisible start, and waits twice as long for the next, up to 10 s', () => {
    const starts = new PendingStarts();
    const waits: number[] = [];
    for (let nth = 0, now = 0; nth < 5; nth++) {
      starts.learn(starts.plus(1, 0, now, NOTHING));
      const begunAt = now;
      while (starts.count(0, now) > 0) now += 100;
      waits.push(now - begunAt);
    }

    expect(waits).toEqual([2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  test('counts a start no longer because more tasks are announced', () => {
    const starts = new PendingStarts();
    starts.learn(starts.plus(3, 0, 0, NOTHING));
    starts.learn(starts.plus(0, 0, 1_500, { ids: ['a', 'b', 'c'], since: 0 }));

    expect([starts.count(0, 1_999), starts.count(0, 2_000)]).toEqual([3, 0]);
    expect(starts.heardSince(0)).toEqual([{ at: 1_500, count: 3, ids: ['a', 'b'] }]);
  });

  test('resets the wait after a start has become visible', () => {
    const starts = new PendingStarts();
    starts.learn(starts.plus(1, 0, 0, NOTHING));
    starts.learn(starts.plus(1, 0, 2_000, NOTHING));
    expect(starts.count(1, 5_000)).toBe(0);

    starts.learn(starts.plus(1, 1, 10_000, NOTHING));

    expect(starts.count(1, 11_999)).toBe(1);
    expect(starts.count(1, 12_000)).toBe(0);
  });

  test.each([
    [20_000, 3],
    [20_001, 0],
  ])('believes a note until %i ms from now, unless the clock of its writer is further ahead', (untilMs, pending) => {
    const starts = new PendingStarts();
    starts.learn({ count: 3, token: 0, untilMs, waitMs: 2_000, heard: [] });

    expect([starts.count(0, 0), starts.areRecent(0)]).toEqual([pending, pending > 0]);
  });
});
