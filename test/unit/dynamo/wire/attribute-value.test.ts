import { expect, test } from 'vitest';
import { WideNumber, asBytes, base64, decodeMap, encodeMap } from '../../../../shared/dynamo/wire/attribute-value.ts';

const BYTES = Uint8Array.of(0, 1, 2, 3, 4);

test.each([
  ['an array', BYTES.slice(1, 4)],
  ['a part of an array', BYTES.subarray(1, 4)],
  ['a view of a part', new DataView(BYTES.buffer, 1, 3)],
  ['a buffer', BYTES.slice(1, 4).buffer],
  ['a buffer of Node', Buffer.from(BYTES.buffer, 1, 3)],
])('%s is stored as its own bytes', (_form, bytes) => {
  const encoded = encodeMap({ bytes }, asBytes);

  expect([...(decodeMap(encoded).bytes as Uint8Array)]).toEqual([1, 2, 3]);
});

const circular: Record<string, unknown> = {};
circular.inner = [circular];
const nested = (depth: number, wrap: (inner: unknown) => unknown): unknown =>
  depth === 0 ? 'x' : wrap(nested(depth - 1, wrap));
class Money {
  readonly amount = 1;
}

/** Each kind of value that JavaScript has, with the edges of each. */
const VALUES: Readonly<Record<string, unknown>> = {
  'a string': 'text',
  'an empty string': '',
  'a number': 1.5,
  'minus zero': -0,
  'the largest exact number': Number.MAX_SAFE_INTEGER,
  'a larger number': 2 ** 53,
  'the smallest exact number': Number.MIN_SAFE_INTEGER,
  'a smaller number': -(2 ** 53),
  'not a number': NaN,
  infinity: Infinity,
  'a bigint': 2n ** 64n,
  'a wide number': new WideNumber('1E+100'),
  true: true,
  false: false,
  null: null,
  undefined,
  'a function': () => 1,
  'a symbol': Symbol('s'),
  bytes: Uint8Array.of(1, 2),
  'a list': ['a', undefined, 1, () => 1, [null]],
  'an empty list': [],
  'a map': { a: { b: [1] }, c: undefined, d: () => 1 },
  'an empty map': {},
  'a Map': new Map([['a', 1]]),
  'an object without a prototype': Object.assign(Object.create(null) as object, { a: 1 }),
  'a map with odd names': JSON.parse('{"__proto__":1,"constructor":2,"toString":3}') as unknown,
  'a set of strings': new Set(['a', undefined, 'b']),
  'a set of numbers': new Set([1, 2n, new WideNumber('1E+100')]),
  'a set of bytes': new Set([Uint8Array.of(1), Uint8Array.of(2)]),
  'an empty set': new Set(),
  'a set of undefined': new Set([undefined]),
  'a set of booleans': new Set([true]),
  'a set of null': new Set([null]),
  'a set of maps': new Set([{ a: 1 }]),
  'a set of several types': new Set(['a', 1]),
  'a boxed string': Object('text') as unknown,
  'a boxed number': Object(7) as unknown,
  'a boxed boolean': Object(false) as unknown,
  'a date': new Date(0),
  'an instance': new Money(),
  'a value deep in a map': { a: { b: [1, { c: NaN }] } },
  'a value in a Map': new Map([['a', new Set()]]),
  'itself, in a list': circular,
  'a hundred maps': nested(100, (inner) => ({ a: inner })),
  'a hundred lists': nested(100, (inner) => [inner]),
  'a hundred and one maps': nested(101, (inner) => ({ a: inner })),
  'a hundred and one lists': nested(101, (inner) => [inner]),
};

test('each kind of value has one form or is refused, and is read as it was stored', async () => {
  const lines = Object.entries(VALUES).map(([described, it]) => {
    try {
      const stored = encodeMap({ it }, base64).it;
      const read = decodeMap(stored === undefined ? {} : { it: stored }).it;
      return `${described}: ${short(JSON.stringify(stored))}, read as ${short(shown(read))}`;
    } catch (error) {
      return `${described}: refused, ${short((error as Error).message)}`;
    }
  });

  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./attribute-value.golden.txt');
});

function shown(value: unknown): string {
  if (Object.is(value, -0)) return '-0';
  if (value instanceof Uint8Array) return `bytes ${value.join(' ')}`;
  if (value instanceof Set) return `a set of ${[...value].map(shown).join(', ')}`;
  if (value instanceof WideNumber) return `a wide number ${value.value}`;
  if (value === undefined) return 'undefined';
  return typeof value === 'bigint' ? `${value}n` : JSON.stringify(value);
}

function short(text: string | undefined): string {
  const whole = text ?? 'nothing';
  return whole.length <= 120 ? whole : `${whole.slice(0, 40)} … ${whole.slice(-40)}`;
}

test.each<[string, unknown, string]>([
  ['a row that is none', 'text', 'an item is not an object'],
  ['a list as row', [], 'an item is not an object'],
  ['an attribute without type', { it: {} }, 'an attribute has no type'],
  ['a bare attribute', { it: 'text' }, 'an attribute has no type'],
  ['an unknown type', { it: { SOMETHING_OF_TOMORROW_X: 1 } }, 'an attribute has the unknown type SOMETHING_OF_TOMORRO'],
  ['a number as text', { it: { S: 1 } }, 'an attribute is not text, as its type says'],
  ['a text as boolean', { it: { BOOL: 'true' } }, 'a boolean is neither true nor false'],
  ['a map as list', { it: { L: {} } }, 'an attribute is not a list, as its type says'],
  ['a text as set of numbers', { it: { NS: '1' } }, 'an attribute is not a list, as its type says'],
  ['a number in a set of strings', { it: { SS: [1] } }, 'an attribute is not text, as its type says'],
  ['a broken member of a map', { it: { M: { a: { S: 1 } } } }, 'an attribute is not text, as its type says'],
])('%s in an answer is refused', (_what, item, message) => {
  expect(() => decodeMap(item)).toThrow(message);
});
