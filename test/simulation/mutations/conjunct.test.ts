/** Guards are taken apart at their conjuncts, and nowhere else. */
import { expect, test } from 'vitest';
import { allConjuncts, splitAtAnd, withoutConjunct } from './conjunct.ts';

test('a guard has the conjuncts that stand in no parentheses', () => {
  expect(splitAtAnd('#a = :a AND (#b = :b OR #c = :c) AND attribute_exists(#d)')).toEqual([
    '#a = :a',
    '(#b = :b OR #c = :c)',
    'attribute_exists(#d)',
  ]);
  expect(splitAtAnd('#a = :a AND #b = :b OR #c = :c')).toEqual(['#a = :a AND #b = :b OR #c = :c']);
});

test('every statement that is guarded has some', () => {
  const conjuncts = allConjuncts();

  expect(new Set(conjuncts.map(({ verb }) => verb)).size).toBeGreaterThan(50);
  for (const { mutated, conjunct } of conjuncts) expect(mutated).toContain(conjunct);
  expect(conjuncts.filter(({ mutated }) => mutated.includes('((('))).toEqual([]);
});

test('a request loses the conjunct wherever its statement stands in it', () => {
  const text = '## x.y\n\nupdate\n\n- ConditionExpression: `#a = :a AND #b = :b`\n- UpdateExpression: `SET #c = :c`\n';
  const [first] = allConjuncts(text);
  const update = { ConditionExpression: '#a = :a AND #b = :b', UpdateExpression: 'SET #c = :c' };
  const mutated = { ...update, ConditionExpression: '((#a = :a) OR NOT (#a = :a)) AND (#b = :b)' };
  let sent = 0;
  const drop = <Input>(input: Input): Input =>
    withoutConjunct(input, first!, () => {
      sent++;
    });

  expect(drop(update)).toEqual(mutated);
  expect(drop({ TransactItems: [{ Update: update }] })).toEqual({ TransactItems: [{ Update: mutated }] });
  expect(drop({ ...update, UpdateExpression: 'SET #d = :d' })).toEqual({ ...update, UpdateExpression: 'SET #d = :d' });
  expect(sent).toBe(2);
});
