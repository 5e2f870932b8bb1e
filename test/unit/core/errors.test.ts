/** The errors that users catch: each with all that it carries, and messages of a bounded length. */
import { expect, test } from 'vitest';
import {
  ClockSkewError,
  ConfigurationError,
  InvariantError,
  assert,
  assertNever,
  messageOf,
  shown,
} from '../../../shared/core/errors.ts';

test('a wrong clock is named with what it may not do', () => {
  expect(new ClockSkewError(600, 1_000, 'opening no session').message).toContain(': opening no session;');
});

test('a very long message loses its middle, and no half of a character', () => {
  const short = 'x'.repeat(1_500);
  const long = new ConfigurationError(`${'a'.repeat(1_099)}😀${'b'.repeat(2_000)}😀${'c'.repeat(399)}`).message;

  expect(new ConfigurationError(short).message).toBe(short);
  expect(long).toBe(`${'a'.repeat(1_099)}\uFFFD…\uFFFD${'c'.repeat(399)}`);
});

test('a broken rule of this package is an InvariantError', () => {
  expect(() => assert(false, 'a bug')).toThrow(new InvariantError('a bug'));
  expect(() => assert(true, 'no bug')).not.toThrow();
  expect(() => assertNever({ kind: 'odd' } as never, 'state')).toThrow(
    new InvariantError('unexpected state: {"kind":"odd"}'),
  );
});

const hostile = (): never => {
  throw new Error('hostile');
};

test('any thrown value has a text', () => {
  const texts = [new TypeError('no function'), 'text', undefined, 7, { code: 'E' }, { toString: hostile }].map(
    messageOf,
  );

  expect(texts).toEqual(['no function', 'text', 'undefined', '7', "{ code: 'E' }", 'an error that cannot be printed']);
});

test('any value is shown, and of a long one the first 80 characters, or as many as are asked for', () => {
  const [long, longer] = ['x'.repeat(78), 'x'.repeat(79)];

  expect(['it', NaN, 12n, [1], long, longer, new Proxy({}, { ownKeys: hostile })].map((value) => shown(value))).toEqual(
    ['"it"', 'NaN', '12n', '[ 1 ]', `"${long}"`, `"${longer}…`, '{}'],
  );
  expect(shown('abcdef', 4)).toBe('"abc…');
  expect(shown('ab😀', 4)).toBe('"ab\uFFFD…');
});
