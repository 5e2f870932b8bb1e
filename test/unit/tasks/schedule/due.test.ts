/** The last occurrence of a span, the spread of jitter, and what an occurrence covers. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lastOccurrenceWithin } from '../../../../shared/tasks/schedule/cron.ts';
import { jitterOf, occurrenceOf } from '../../../../shared/tasks/schedule/schedule.ts';

describe('the last occurrence of a span', () => {
  const edge = fc.record({ second: fc.integer({ min: 0, max: 40 }), more: fc.constantFrom(-1, 0, 0, 1, 500) });
  const seconds = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 40 });

  test('is the one that a walk through the span meets last', () => {
    fc.assert(
      fc.property(seconds, edge, edge, (all, start, end) => {
        const occurrences = all.map((second) => second * 1_000).sort((a, b) => a - b);
        const [from, until] = [start, end].map(({ second, more }) => second * 1_000 + more) as [number, number];

        const found = lastOccurrenceWithin((after) => occurrences.find((occurrence) => occurrence > after), {
          from,
          until,
        });

        expect(found).toBe(occurrences.findLast((occurrence) => from <= occurrence && occurrence <= until));
      }),
      { seed: 7, numRuns: 2_000 },
    );
  });
});

test('the tasks of a thousand schedules are spread over the jitter, each always by the same part of it', () => {
  const names = Array.from({ length: 1_000 }, (_, n) => `schedule-${n}`);
  const spread = names.map((name) => jitterOf({ name, jitterMs: 1_000 }));

  expect(names.map((name) => jitterOf({ name, jitterMs: 1_000 }))).toEqual(spread);
  expect(Math.min(...spread)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...spread)).toBeLessThan(1_000);
  for (let tenth = 0; tenth < 10; tenth++)
    expect(spread.filter((ms) => Math.floor(ms / 100) === tenth).length).toBeGreaterThan(60);
  expect(names.map((name) => jitterOf({ name, jitterMs: 0 }))).toEqual(names.map(() => 0));
});

test.each([
  ['none', undefined, 5, undefined],
  ['an earlier one', 3, 5, 3],
  ['the same', 5, 5, 5],
  ['a later one', 7, 5, 5],
])('an occurrence whose latest was %s covers what no task covers yet', (_what, lastAt, occurrence, since) => {
  expect(occurrenceOf({ name: 's', lastAt }, occurrence)).toEqual({ name: 's', at: occurrence, since });
});
