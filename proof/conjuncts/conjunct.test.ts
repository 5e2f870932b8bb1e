/** Guards are taken apart at their conjuncts, and nowhere else; and each conjunct is needed, or known to be redundant. */
import { describe, expect, test } from 'vitest';
import { lockKey } from '../../shared/dynamo/engine/keys.ts';
import { updateStatement } from '../../shared/dynamo/engine/statement.ts';
import { actionOf, together } from '../../shared/dynamo/engine/transaction.ts';
import type { Verb } from '../../shared/dynamo/engine/verb.ts';
import { CASES } from './guards/cases.ts';
import { Rows } from './guards/rows.ts';
import { conjunctsOf, splitAtAnd, withoutConjunct } from './conjunct.ts';

test('a guard has the conjuncts that stand in no parentheses', () => {
  expect(splitAtAnd('#a = :a AND (#b = :b OR #c = :c) AND attribute_exists(#d)')).toEqual([
    '#a = :a',
    '(#b = :b OR #c = :c)',
    'attribute_exists(#d)',
  ]);
  expect(splitAtAnd('#a = :a AND #b = :b OR #c = :c')).toEqual(['#a = :a AND #b = :b OR #c = :c']);
});

describe('a statement', () => {
  const update = (key: string, verb: Verb = 'lock.update') =>
    updateStatement(verb, {
      table: 't',
      key: lockKey(key),
      guard: '#session = :session AND #nonce = :seen',
      effect: 'SET #ttl = :ttl',
      values: { ':session': 's', ':seen': 'n', ':ttl': 1 },
    });

  test('loses one condition while every name and value is still used', () => {
    const dropped = withoutConjunct(update('a'), 'lock.update: #nonce = :seen');

    expect(dropped.input.ConditionExpression).toBe(
      '(#session = :session) AND ((#nonce = :seen) OR NOT (#nonce = :seen))',
    );
    expect(withoutConjunct(update('a'), 'lock.other: #nonce = :seen')).toEqual(update('a'));
  });

  test('keeps it lost when it is stamped again', () => {
    const again = { ...update('a'), restamped: () => update('b') };

    expect(withoutConjunct(again, 'lock.update: #nonce = :seen').restamped?.(1).input.ConditionExpression).toContain(
      ' OR NOT ',
    );
  });

  test('names its later actions by their effects', () => {
    expect(conjunctsOf(together(update('a', 'lock.acquire'), [actionOf(update('b'))], 'token'))).toEqual([
      'lock.acquire: #session = :session',
      'lock.acquire: #nonce = :seen',
      'lock, SET #ttl = :ttl: #session = :session',
      'lock, SET #ttl = :ttl: #nonce = :seen',
    ]);
  });
});

describe('the conjuncts of all guards', () => {
  test.each(CASES)('%s: without it, the late write is let through', (name, build) => {
    const rows = new Rows();

    expect(rows.outcomeOf(withoutConjunct(build(rows), name))).not.toBe('refused');
  });
});
