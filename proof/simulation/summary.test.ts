/** The summary shows how near each rule has come to its bound, in any history of any core. */
import { expect, test } from 'vitest';
import { Checker } from './checker.ts';
import { assumptionsOf } from './history-result.ts';
import type { Nearest } from './invariants/rule.ts';
import { profileOf } from './run-seed.ts';
import { boundsOf, summaryOf } from './summary.ts';
import { emptyMessage, Tally } from './tally.ts';

const nearest = (amounts: Readonly<Record<string, Nearest>>) => new Map(Object.entries(amounts));

test('has the amount that came nearest to its bound', () => {
  const tally = new Tally();
  tally.add({
    ...emptyMessage(),
    nearest: nearest({ L10: { amount: 50, bound: 100 }, LOAD: { amount: 9, bound: 10 } }),
  });
  tally.add({ ...emptyMessage(), nearest: nearest({ L10: { amount: 60, bound: 200 }, L15: { amount: 1, bound: 3 } }) });

  expect(boundsOf(tally)).toEqual([
    ['L10', '50', '100', '50 %'],
    ['L15', '1', '3', '33 %'],
    ['LOAD', '9', '10', '90 %'],
  ]);
  expect(summaryOf(tally)).toMatchObject({ nearest: { L10: { amount: 50, bound: 100 } } });
});

test('has nothing of a rule that a history does not judge', () => {
  const checker = new Checker(assumptionsOf(profileOf(1n, 'calm')), ['LOAD']);

  checker.measure('LOAD', 1, 2);
  checker.measure('CREEP', 1, 2);
  checker.measure('CREEP', 1, 3);

  expect([...checker.nearest]).toEqual([['CREEP', { amount: 1, bound: 2 }]]);
});
