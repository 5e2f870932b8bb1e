import { describe, expect, test } from 'vitest';
import { bind } from '../../../../shared/testing/simulated-dynamo/expression/bindings.ts';
import { holds } from '../../../../shared/testing/simulated-dynamo/expression/condition.ts';
import { parsed } from '../../../../shared/testing/simulated-dynamo/expression/parsed-expressions.ts';
import { copyItemIn } from '../../../../shared/testing/simulated-dynamo/item-copy.ts';

const ITEM = {
  s: 'abc',
  emoji: 'é😀',
  n: 5,
  yes: true,
  nothing: null,
  l: [1, 'x', [2]],
  m: { x: 1, '0': 'zero' },
  u: new Set(['a', 'b']),
  b: new Uint8Array([97, 98]),
};

function evaluate(text: string, values: Record<string, unknown> = {}, item: Record<string, unknown> = ITEM): boolean {
  const expression = parsed.condition(text)!;
  const given = Object.keys(values).length > 0 ? { ExpressionAttributeValues: values } : {};
  return holds(expression.root, copyItemIn(item), bind(given, [expression]));
}

describe('a missing attribute', () => {
  test.each([
    ['gone = :v', false],
    ['gone <> :v', true],
    ['gone < :v', false],
    ['gone <= :v', false],
    ['gone > :v', false],
    ['gone >= :v', false],
    ['gone BETWEEN :v AND :v', false],
    ['gone IN (:v)', false],
    ['contains(gone, :v)', false],
    ['size(gone) = :v', false],
    ['size(gone) <> :v', true],
    ['NOT gone = :v', true],
    ['NOT gone <> :v', false],
    ['NOT gone > :v', true],
    ['NOT gone <= :v', true],
    ['NOT gone BETWEEN :v AND :v', true],
    ['gone <> also_gone AND n = :v', false],
  ])('makes %s %s', (text, expected) => {
    expect(evaluate(text, { ':v': 1 })).toBe(expected);
  });

  test('is not equal to another missing attribute, and not unequal to itself only by grammar', () => {
    expect(evaluate('gone = also_gone')).toBe(false);
    expect(evaluate('gone <> also_gone')).toBe(true);
  });

  test('is all that an item which does not exist has', () => {
    const expression = parsed.condition('attribute_not_exists(pk) AND gone <> :v')!;
    const bindings = bind({ ExpressionAttributeValues: { ':v': 1 } }, [expression]);

    expect(holds(expression.root, undefined, bindings)).toBe(true);
  });
});

describe('values of different types', () => {
  test.each([
    ['s = :v', 5, false],
    ['s <> :v', 5, true],
    ['s < :v', 5, false],
    ['s >= :v', 5, false],
    ['yes = :v', 'true', false],
    ['n = :v', '5', false],
    ['nothing = :v', null, true],
    ['nothing = :v', false, false],
    ['u = :v', new Set(['b', 'a']), true],
    ['u = :v', ['a', 'b'], false],
    ['m = :v', { '0': 'zero', x: 1 }, true],
    ['l = :v', [1, 'x', [2]], true],
    ['l = :v', ['x', 1, [2]], false],
  ])('decide %s of %j as %s', (text, value, expected) => {
    expect(evaluate(text, { ':v': value })).toBe(expected);
  });
});

describe('functions', () => {
  test.each([
    ['size(emoji) = :v', 3, true], // UTF-16 units, neither characters nor bytes
    ['size(b) = :v', 2, true],
    ['size(l) = :v', 3, true],
    ['size(m) = :v', 2, true],
    ['size(u) = :v', 2, true],
    ['size(n) = :v', 1, false], // numbers have no size
    ['size(n) <> :v', 1, true],
    ['begins_with(s, :v)', 'ab', true],
    ['begins_with(s, :v)', '', true],
    ['begins_with(n, :v)', '5', false],
    ['contains(s, :v)', 'b', true],
    ['contains(u, :v)', 'a', true],
    ['contains(u, :v)', 1, false],
    ['contains(l, :v)', [2], true],
    ['contains(m, :v)', 'x', false],
    ['contains(n, :v)', 5, false],
    ['attribute_type(u, :v)', 'SS', true],
    ['attribute_type(nothing, :v)', 'NULL', true],
    ['attribute_type(gone, :v)', 'S', false],
  ])('decide %s of %j as %s', (text, value, expected) => {
    expect(evaluate(text, { ':v': value })).toBe(expected);
  });

  test.each([
    ['attribute_exists(m.x)', true],
    ['attribute_exists(m.y)', false],
    ['attribute_exists(l[2][0])', true],
    ['attribute_exists(l[3])', false],
    ['attribute_exists(s.x)', false],
    ['attribute_exists(m[0])', false], // a map has no positions, even if it has a member of that name
    ['attribute_exists(hasOwnProperty)', false], // nor anything that JavaScript objects have
    ['attribute_exists(m.toString)', false],
  ])('decide %s as %s', (text, expected) => {
    expect(evaluate(text)).toBe(expected);
  });
});

describe('precedence', () => {
  test.each([
    ['n = :no AND n = :no OR n = :yes', true],
    ['n = :yes OR n = :no AND n = :no', true],
    ['(n = :yes OR n = :no) AND n = :no', false],
    ['NOT n = :no AND n = :yes', true],
    ['NOT (n = :no OR n = :yes)', false],
    ['NOT NOT n = :yes AND n <> :no', true],
    ['n BETWEEN :no AND :yes AND n = :yes AND n <> :no', true],
  ])('makes %s %s', (text, expected) => {
    expect(evaluate(text, { ':no': 4, ':yes': 5 })).toBe(expected);
  });
});

describe('parseCondition', () => {
  test.each([
    ['', 'can not be empty'],
    ['n', 'Syntax error; token: "<EOF>"'],
    ['n = :v AND', 'Syntax error'],
    ['n == :v', 'Syntax error; token: "=", near: "== :v"'],
    ['n = 5', 'Syntax error; token: "5"'],
    ['status = :v', 'reserved keyword; reserved keyword: status'],
    ['m.ttl = :v', 'reserved keyword'],
    ['((n = :v))', 'redundant parentheses'],
    ['ATTRIBUTE_EXISTS(n)', 'Invalid function name'],
    ['attribute_exists(:v)', 'requires a document path'],
    ['size(n)', 'not allowed to be used this way'],
    ['contains(n)', 'Incorrect number of operands'],
    ['if_not_exists(n, :v)', 'not allowed in a condition'],
    ['l[01] = :v', 'Syntax error'],
    ['l[2147483648] = :v', 'not within the allowable range'],
    [`n${'.x'.repeat(32)} = :v`, 'too many nesting levels'],
    [Array(151).fill('n = :v').join(' OR '), 'too many operators; operator count: 301'],
    [`n IN (${Array(101).fill(':v').join(', ')})`, 'too many operands'],
    [`n = :v${' '.repeat(4091)}`, 'Expression size has exceeded'],
  ])('refuses %s', (text, message) => {
    expect(() => evaluate(text, { ':v': 5 })).toThrow(message);
  });

  test.each(['((n = :v) OR n = :v)', '(n) = :v', 'n=:v', 'NOT(n<>:v)', `n = :v${' '.repeat(4090)}`])(
    'takes %s',
    (text) => {
      expect(evaluate(text, { ':v': 5 })).toBe(true);
    },
  );
});

describe('bind', () => {
  test.each([
    ['n < :v', { ':v': true }, 'Incorrect operand type for operator or function; operator or function: <'],
    ['begins_with(s, :v)', { ':v': 1 }, 'Incorrect operand type'],
    ['attribute_type(s, :v)', { ':v': 'X' }, 'Invalid attribute type name'],
    ['n BETWEEN :v AND :w', { ':v': 5, ':w': 1 }, 'upper bound to be greater than or equal to lower bound'],
    ['n BETWEEN :v AND :w', { ':v': 5, ':w': 'x' }, 'same data type'],
    ['n = n', {}, 'first operand must be distinct'],
    ['n = :v', { ':v': 1, ':w': 2 }, 'unused in expressions: keys: {:w}'],
    ['n = :v', { ':w': 2 }, 'ExpressionAttributeValues'],
    ['n = :v', {}, 'is not defined; attribute value: :v'],
    ['n = :v', { ':v': new Set() }, 'may not be empty'],
    ['n = :v', { v: 1 }, 'contains invalid key'],
  ])('refuses %s with %j', (text, values, message) => {
    expect(() => evaluate(text, values)).toThrow(message);
  });

  test('refuses names that are missing, unused or malformed', () => {
    const expression = parsed.condition('attribute_exists(#a)')!;

    expect(() => bind({}, [expression])).toThrow('attribute name: #a');
    expect(() => bind({ ExpressionAttributeNames: { '#a': 'x', '#b': 'y' } }, [expression])).toThrow('keys: {#b}');
    expect(() => bind({ ExpressionAttributeNames: { a: 'x' } }, [expression])).toThrow('invalid key');
    expect(() => bind({ ExpressionAttributeNames: { '#a': '' } }, [expression])).toThrow('Empty attribute name');
    expect(() => bind({ ExpressionAttributeNames: {} }, [expression])).toThrow('must not be empty');
  });
});
