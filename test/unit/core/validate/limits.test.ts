/** Checks of what users pass: the last value that is taken on each side, the first that is refused, and the words of the refusal. */
import { expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { notJson } from '../../../../shared/core/json.ts';
import { validName, validWholeNumber } from '../../../../shared/core/validate/options.ts';
import { describeIssues } from '../../../../shared/core/validate/parsed-schema.ts';

test.each(['x', 'x'.repeat(512), 'ä'.repeat(256), '😀'.repeat(128), '#/: \n'])('%j is a name', (name) => {
  expect(validName('key', name)).toBe(name);
});

test.each<[unknown, string]>([
  ['', 'key is empty: must have at least one character'],
  [undefined, 'key is of type undefined: must be a string'],
  [null, 'key is null: must be a string'],
  [['k'], 'key is an array: must be a string'],
  [7, 'key is of type number: must be a string'],
  ['x\uD83D', 'key "x\\ud83d" is not well-formed Unicode: it has half of a surrogate pair'],
  ['x'.repeat(513), `key "${'x'.repeat(40)}"… has 513 bytes: at most 512 are allowed`],
  ['ä'.repeat(257), `key "${'ä'.repeat(40)}"… has 514 bytes: at most 512 are allowed`],
])('%j is no name', (name, message) => {
  expect(() => validName('key', name)).toThrow(new ConfigurationError(message));
});

test.each([
  [1, { min: 1 }],
  [Number.MAX_SAFE_INTEGER, { min: 1 }],
  [-3, { min: -3, max: -3 }],
  [10, { min: 0, max: 10 }],
])('%d is a whole number within %o', (value, range) => {
  expect(validWholeNumber('n', value, range)).toBe(value);
});

test.each<[unknown, { readonly min: number; readonly max?: number }, string]>([
  [0, { min: 1 }, 'n = 0: must be a whole number of at least 1'],
  [11, { min: 0, max: 10 }, 'n = 11: must be a whole number from 0 to 10'],
  [-1, { min: 0, max: 10 }, 'n = -1: must be a whole number from 0 to 10'],
  [1.5, { min: 0 }, 'n = 1.5: must be a whole number of at least 0'],
  [2 ** 53, { min: 0 }, 'n = 9007199254740992: must be a whole number of at least 0'],
  [NaN, { min: 0 }, 'n = NaN: must be a whole number of at least 0'],
  ['1', { min: 0 }, 'n = "1": must be a whole number of at least 0'],
  [1n, { min: 0 }, 'n = 1n: must be a whole number of at least 0'],
])('%s is no whole number within %o', (value, range, message) => {
  expect(() => validWholeNumber('n', value, range)).toThrow(new ConfigurationError(message));
});

test('issues of a schema are listed with their paths', () => {
  const issues = [
    { message: 'expected an object' },
    { message: 'expected a string', path: [] },
    { message: 'too short', path: ['user', { key: 'names' }, 0] },
    { message: 'unknown', path: [Symbol('s')] },
  ];

  expect(describeIssues(issues)).toBe(
    'expected an object; expected a string; user.names.0: too short; Symbol(s): unknown',
  );
});

test.each([
  ['{"a":1,}', 'not JSON at position 7'],
  ['{"secret":"x', 'not JSON at position 12'],
  ['', 'not JSON'],
])('of %j only the position is told', (text, message) => {
  const parse = (): string => {
    try {
      return String(JSON.parse(text));
    } catch (error) {
      return notJson(error);
    }
  };

  expect(parse()).toBe(message);
  expect(notJson('no error')).toBe('not JSON');
});
