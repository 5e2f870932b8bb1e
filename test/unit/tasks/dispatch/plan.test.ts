import { describe, expect, test } from 'vitest';
import type { Demand, PartitionBacklog } from '../../../../shared/tasks/dispatch/demand.ts';
import type { Wanted } from '../../../../shared/tasks/dispatch/plan.ts';
import { homesOf, slicesOf, wantedWorkers } from '../../../../shared/tasks/dispatch/plan.ts';

function backlogOf(...due: readonly number[]): PartitionBacklog[] {
  return due.map((count, shard) => ({ partition: { queue: 'q', priority: 'normal', shard }, due: count, late: 0 }));
}

function wanted(demand: Partial<Demand>, atWork = 0, settings = {}): Wanted {
  const asked = { due: 0, late: 0, tookMs: undefined, ...demand };
  return wantedWorkers(asked, atWork, { maxWorkers: 10, concurrency: 10, startWithinMs: 10_000, ...settings });
}

describe('wantedWorkers', () => {
  test.each([
    ['a slot for each task if nothing is known', { due: 100 }, 0, 10, 'tookUnknown'],
    ['a slot for each task that takes as long as it may wait', { due: 80, tookMs: 10_000 }, 0, 8, 'took'],
    ['as many as let the last one begin in time', { due: 1_000, tookMs: 200 }, 0, 2, 'took'],
    ['one for many short tasks', { due: 1_000, tookMs: 5 }, 0, 1, 'took'],
    ['none for no task', { due: 0, tookMs: 5 }, 0, 0, 'took'],
    ['no more for tasks that run', { due: 10, late: 10, tookMs: 200 }, 1, 1, 'took'],
    ['one more if all slots are held for long', { due: 11, late: 10, tookMs: 200 }, 1, 2, 'took'],
    ['more for tasks that are late', { due: 100, late: 100, tookMs: 2_500 }, 1, 10, 'late'],
    ['a quarter of the time for each late task', { due: 100, late: 100, tookMs: 1_000 }, 0, 4, 'late'],
    ['a slot for each late task if nothing is known', { due: 20, late: 20 }, 0, 2, 'tookUnknown'],
    [
      'a slot for each late task that takes as long as it may wait',
      { due: 20, late: 20, tookMs: 10_000 },
      0,
      2,
      'took',
    ],
    ['as many as may be if the end was not seen', { due: 8_000, tookMs: 5, isCutShort: true }, 0, 10, 'cutShort'],
    ['what a sample has left', { due: 1, tookMs: undefined, less: 'keysFull' as const }, 0, 1, 'keysFull'],
  ])('wants %s', (_, demand, atWork, workers, why) => {
    expect(wanted(demand, atWork)).toEqual({ workers, missing: 0, why });
  });

  test('never wants more than the cap, and reports how many are missing', () => {
    expect(wanted({ due: 250 })).toEqual({ workers: 10, missing: 15, why: 'maxWorkers' });
  });

  test('wants a slot per task if each is to start immediately', () => {
    expect(wanted({ due: 100, tookMs: 5 }, 0, { startWithinMs: 0 }).workers).toBe(10);
  });

  test('wants no more workers for shorter tasks, fewer tasks or more workers at work', () => {
    for (const tookMs of [undefined, 10_000, 3_000, 400, 5])
      for (const due of [0, 1, 9, 10, 11, 99, 100, 1_000])
        for (const late of [0, due / 2, due]) {
          const { workers } = wanted({ due, late, tookMs });
          expect(wanted({ due, late, tookMs: (tookMs ?? 10_000) / 2 }).workers).toBeLessThanOrEqual(workers);
          expect(wanted({ due: due / 2, late: late / 2, tookMs }).workers).toBeLessThanOrEqual(workers);
          expect(workers).toBeLessThanOrEqual(Math.ceil(due / 10));
        }
  });
});

describe('homesOf', () => {
  test('gives a single worker all shards, the fullest first', () => {
    expect(homesOf(backlogOf(0, 0, 1, 0), 1, 4)).toEqual([[2, 0, 1, 3]]);
  });

  test('assigns each shard once if there are more shards than workers', () => {
    expect(homesOf(backlogOf(1, 9, 2, 8), 2, 4)).toEqual([
      [1, 2],
      [3, 0],
    ]);
  });

  test('gives every worker a home when there are more workers than shards', () => {
    expect(homesOf(backlogOf(20, 20, 5, 5), 5, 4)).toEqual([[0], [1], [2], [3], [0]]);
  });
});

describe('slicesOf', () => {
  test('gives slices to workers that begin in the same shard', () => {
    expect(slicesOf([[0], [1], [0], [0]])).toEqual([
      { nth: 0, of: 3 },
      undefined,
      { nth: 1, of: 3 },
      { nth: 2, of: 3 },
    ]);
  });

  test('leaves whole shards to workers that share none', () => {
    expect(slicesOf([[0, 2], [1]])).toEqual([undefined, undefined]);
  });
});
