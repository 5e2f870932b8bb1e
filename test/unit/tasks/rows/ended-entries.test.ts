/** The text of an ended task's entry: no part of it can pass for another, and damage is seen. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { deadPlace, endedFactsIn, endedPlace } from '../../../../shared/tasks/rows/task/ended-entries.ts';
import { SORT_KEY_LIMIT_BYTES } from '../../../../shared/dynamo/engine/schema.ts';

const AT = Date.parse('2027-01-31T08:00:00.000Z');
const stamp = { now: AT, nonce: 'n', shards: 8 };
const text = fc.string({ unit: fc.constantFrom('a', '#', '%', '|', 'ä', '\u{1F600}'), minLength: 1, maxLength: 120 });

test('an entry is read as it was written, for any texts, and fits', () => {
  fc.assert(
    fc.property(
      text,
      text,
      fc.string({ unit: fc.constantFrom('#', '%', 'x'), minLength: 1, maxLength: 64 }),
      (name, key, label) => {
        const links = { concurrency: { key, limit: 1, rate: undefined } };
        const task = { queue: 'q', id: 'i', name, label, links, attempts: 3, readyAt: AT - 500, claimedAt: AT - 200 };
        const { name: entry } = endedPlace(task, 'done', stamp);

        const facts = endedFactsIn(entry);
        expect(facts).toMatchObject({ at: AT, state: 'done', waitedMs: 300, ranMs: 200, attempts: 3, label });
        expect(name.startsWith(facts?.name ?? '-')).toBe(true);
        expect(key.startsWith(facts?.key ?? '-')).toBe(true);
        expect(Buffer.byteLength(entry)).toBeLessThan(SORT_KEY_LIMIT_BYTES);
      },
    ),
    { seed: 1, numRuns: 300 },
  );
});

test('an entry of a dead task without the list says when it died, whatever its id is', () => {
  const { name } = deadPlace({ queue: 'q', id: 'done#work#1#2#3##' }, { now: AT, nonce: 'n' });

  expect(endedFactsIn(name)).toEqual({ at: AT, state: 'dead' });
});

test.each([
  '',
  'soon',
  '2027-01-31T08:00:00.000Z#done',
  '2027-01-31T08:00:00.000Z#lost#w#1#1#1##',
  '2027-01-31T08:00:00.000Z#done#w#x#1#1##',
])('damage is seen: %s', (entry) =>
  expect(endedFactsIn(entry)?.state).toBe(entry.endsWith('#done') ? 'dead' : undefined),
);
