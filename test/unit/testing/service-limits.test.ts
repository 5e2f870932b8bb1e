import { expect, test } from 'vitest';
import { memoryDynamo } from '../../../shared/testing/memory-table.ts';
import { ServiceLimits } from '../../support/machines/service-limits.ts';
import { Timeline } from '../../support/machines/timeline.ts';

const LIMITS = { conflicts: false, writeUnits: true, readUnits: false };

/** Puts rows until one is refused. @returns how many were put */
function putAll(itemOf: (nth: number) => Record<string, unknown>): number {
  const limits = new ServiceLimits(new Timeline(), LIMITS);
  const store = memoryDynamo(
    'limits',
    () => 0,
    (before, after) => limits.wrote(before, after),
  );
  for (let put = 0; ; put++) {
    const input = { TableName: 'limits', Item: itemOf(put) };
    if (limits.begin('put', input) !== undefined) return put;
    limits.end('put', input);
    store.apply('put', input);
  }
}

const KB_OF_TEN = 'x'.repeat(10_000);

test.each([
  ['rows below a kilobyte of one partition', (nth: number) => ({ pk: 'p', sk: `${nth}` }), 1_000],
  ['rows of ten units of one partition', (nth: number) => ({ pk: 'p', sk: `${nth}`, input: KB_OF_TEN }), 100],
  [
    'rows of a partition each, with entries in one partition of the ready index',
    (nth: number) => ({ pk: `p${nth}`, sk: 's', readyKey: 'shard', readyAt: nth }),
    1_000,
  ],
])('a second bears only so many %s', (_what, itemOf, most) => {
  expect(putAll(itemOf)).toBe(most);
});
