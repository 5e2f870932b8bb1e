/** The error message for a row's broken JSON: it contains the position, but not the content. */
import { expect, test } from 'vitest';
import { CorruptItemError } from '../../../../shared/core/errors.ts';
import { ItemReader } from '../../../../shared/dynamo/engine/item-reader.ts';
import { SCHEMA_VERSION } from '../../../../shared/dynamo/engine/schema.ts';

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
