/** Guards are taken apart at their conjuncts, and nowhere else. */
import { describe, expect, test } from 'vitest';
import { lockKey } from '../../shared/dynamo/engine/keys.ts';
import { updateStatement } from '../../shared/dynamo/engine/statement.ts';
import { actionOf, together } from '../../shared/dynamo/engine/transaction.ts';
import type { Verb } from '../../shared/dynamo/engine/verb.ts';
import { conjunctsOf, splitAtAnd } from './conjunct.ts';

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

  test('names its later actions by their effects', () => {
    expect(conjunctsOf(together(update('a', 'lock.acquire'), [actionOf(update('b'))], 'token'))).toEqual([
      'lock.acquire: #session = :session',
      'lock.acquire: #nonce = :seen',
      'lock, SET #ttl = :ttl: #session = :session',
      'lock, SET #ttl = :ttl: #nonce = :seen',
    ]);
  });
});
