/**
 * Tests each conjunct of a guard with a late write that it alone refuses.
 *
 * Without this conjunct the write would be applied (`conjunct.test.ts`).
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
