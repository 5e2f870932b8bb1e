/**
 * Each conjunct of a guard, where it is the only one that refuses a late write.
 *
 * The seeded bugs drop one conjunct at a time (`npm run conjuncts`): those of these cases are killed here,
 * because the write would be applied.
 */
import { expect, test } from 'vitest';
import { decisiveConjunct } from '../conjunct.ts';
import { CASES } from './cases.ts';
import { Rows } from './rows.ts';

test.each(CASES)('a late write is refused by %s', (conjunct, build) => {
  const rows = new Rows();
  const statement = build(rows);

  expect(decisiveConjunct(rows.store, statement)).toBe(conjunct);
  expect(rows.outcomeOf(statement)).toBe('refused');
});
