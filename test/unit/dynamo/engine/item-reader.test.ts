import { expect, test } from 'vitest';
import { CorruptItemError } from '../../../../shared/core/errors.ts';
import { ItemReader } from '../../../../shared/dynamo/engine/item-reader.ts';
import { SCHEMA_VERSION } from '../../../../shared/dynamo/engine/schema.ts';

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
