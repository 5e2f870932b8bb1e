import { expect, test } from 'vitest';
import { violationsOf } from './storm.ts';

const FEED = {
  once: ['a'],
  parents: ['p'],
  batches: new Map([['b', 1]]),
  versions: new Map([['doc', 3]]),
  lines: new Map([['l', ['x', 'y']]]),
};
const ALL_DONE = JSON.stringify({ total: 3, pending: 0, done: 3 });
const BOOK = new Map<string, Readonly<Record<string, unknown>>>([
  ...['a', 'b/0', 'b-published'].map((id) => [`effect/${id}`, { effects: 1 }] as const),
  ['children/p', { entries: [ALL_DONE] }],
  ['children/b', { entries: [JSON.stringify({ total: 1, pending: 0, dead: 1 })] }],
  ['index/doc', { entries: [1, 3] }],
  ['line/l', { entries: ['x', 'y'] }],
]);
const withRow = (id: string, row: Readonly<Record<string, unknown>>) => new Map([...BOOK, [id, row]]);

test('the storm is content with a book in which all is right', () => {
  expect(violationsOf(FEED, BOOK)).toEqual([]);
});

test.each([
  ['an effect twice', withRow('effect/a', { effects: 2 }), 'a had its effect 2 times'],
  ['a callback that never came', withRow('effect/b-published', {}), 'b-published had its effect 0 times'],
  [
    'a parent that ran early',
    withRow('children/p', { entries: [JSON.stringify({ total: 3, pending: 2, done: 1 })] }),
    'p ran with {"total":3,"pending":2,"done":1} of 3 children',
  ],
  ['older data last', withRow('index/doc', { entries: [3, 1] }), 'doc has 1 last, not 3'],
  ['data that went back', withRow('index/doc', { entries: [2, 1, 3] }), 'doc went back: 2 1 3'],
  ['a line out of order', withRow('line/l', { entries: ['y', 'x'] }), 'line l is out of order'],
])('the storm notices %s', (_what, book, violation) => {
  expect(violationsOf(FEED, book)).toContain(violation);
});
