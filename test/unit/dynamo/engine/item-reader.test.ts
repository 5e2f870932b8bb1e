import { expect, test } from 'vitest';
import { CorruptItemError } from '../../../../shared/core/errors.ts';
import { ItemReader } from '../../../../shared/dynamo/engine/item-reader.ts';
import { SCHEMA_VERSION } from '../../../../shared/dynamo/engine/schema.ts';
import { WideNumber } from '../../../../shared/dynamo/wire/attribute-value.ts';

/** Each kind of value that an attribute can have, with the edges of each; a missing one is among them. */
const VALUES: Readonly<Record<string, unknown>> = {
  missing: undefined,
  null: null,
  'an empty string': '',
  'a string': 'two',
  'JSON text': '{"n":1}',
  zero: 0,
  'a whole number': 7,
  'a negative number': -1,
  'a fraction': 1.5,
  'the largest safe number': Number.MAX_SAFE_INTEGER,
  'a larger number': 2 ** 53,
  'not a number': NaN,
  'a bigint': 2n ** 60n,
  'a negative bigint': -(2n ** 60n),
  'a wide number': new WideNumber('1E+100'),
  true: true,
  false: false,
  bytes: new Uint8Array([1, 2]),
  'an empty list': [],
  'a list of strings': ['a', 'b'],
  'a mixed list': ['a', 1],
  'a map': { constructor: 1 },
  'a set of strings': new Set(['a']),
  'a set of counts': new Set([0, 7]),
  'a set with a negative number': new Set([1, -1]),
  'a set with a fraction': new Set([1, 1.5]),
};

const READERS: Readonly<Record<string, (row: ItemReader) => unknown>> = {
  string: (row) => row.string('it'),
  number: (row) => row.number('it'),
  count: (row) => row.count('it'),
  numberOrNull: (row) => row.numberOrNull('it'),
  oneOf: (row) => row.oneOf('it', ['one', 'two']),
  boolean: (row) => row.boolean('it'),
  strings: (row) => row.strings('it'),
  numbers: (row) => row.numbers('it'),
  texts: (row) => row.texts('it'),
  isBinary: (row) => row.isBinary('it'),
  binary: (row) => row.binary('it'),
  map: (row) => row.map('it'),
  text: (row) => row.text('it'),
  json: (row) => row.json('it'),
  has: (row) => row.has('it'),
  optional: (row) => row.optional('it', (it) => row.count(it)),
};

test('reads each kind of value as its type, or names the row, the attribute and what it found', async () => {
  const lines = Object.entries(READERS).flatMap(([name, read]) => {
    const outcomes = Map.groupBy(Object.keys(VALUES), (described) => outcomeOf(read, VALUES[described]));
    return [name, ...[...outcomes].map(([outcome, described]) => `  ${outcome}: ${described.join(', ')}`)];
  });

  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./item-reader.golden.txt');
});

function outcomeOf(read: (row: ItemReader) => unknown, it: unknown): string {
  const row = new ItemReader({ pk: 'task#mail#1', v: SCHEMA_VERSION, it });
  try {
    return shown(read(row));
  } catch (error) {
    expect(error).toBeInstanceOf(CorruptItemError);
    expect(error).toMatchObject({ key: 'task#mail#1', attribute: 'it' });
    return `refused, ${/: it (.*?);/.exec((error as Error).message)?.[1]}`;
  }
}

function shown(value: unknown): string {
  if (value instanceof Set) return `the set ${[...value].join(', ')}`;
  if (value instanceof Uint8Array) return `the bytes ${value.join(', ')}`;
  if (value === undefined) return 'undefined';
  return typeof value === 'bigint' ? `${value}n` : JSON.stringify(value);
}

test.each([
  [
    { pk: 'lock#a', v: SCHEMA_VERSION + 1 },
    'v',
    `row lock#a cannot be used: v is ${SCHEMA_VERSION + 1}, another version`,
  ],
  [{ pk: 'lock#a' }, 'v', 'row lock#a cannot be used: v should be a number and is missing'],
  [{ v: 'two' }, 'v', 'row without a key cannot be used: v should be a number and is a string'],
])('refuses a row of another version (%o)', (item, attribute, message) => {
  expect(() => new ItemReader(item)).toThrow(
    expect.objectContaining({ attribute, message: expect.stringContaining(message) as string }),
  );
});

test('refuses a row whose key says something else than its attributes', () => {
  const row = new ItemReader({ pk: 'task#mail#1', v: SCHEMA_VERSION });

  expect(() => row.ensureKey(['task', 'mail', '1'])).not.toThrow();
  expect(() => row.ensureKey(['task', 'mail', '2'])).toThrow(
    'row task#mail#1 cannot be used: pk does not fit the task that the row says it is',
  );
});

/** The error message for a row's broken JSON contains the position, but not the content. */
test.each([
  ['S3CRET-card-4111111111111111', /^row task#mail#1 cannot be used: input is not JSON;/],
  ['{"card":"S3CRET-4111"', /input is not JSON at position 21;/],
  ['{"card" S3CRET', /input is not JSON at position 8;/],
  ['"S3CRET', /input is not JSON at position 7;/],
])('a row whose JSON is broken is reported without it (%s)', (text, message) => {
  const row = new ItemReader({ pk: 'task#mail#1', v: SCHEMA_VERSION, input: text });

  expect(() => row.json('input')).toThrow(CorruptItemError);
  expect(() => row.json('input')).toThrow(message);
  expect(() => row.json('input')).not.toThrow(/S3C|card|4111/);
});
