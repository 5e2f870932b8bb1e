/** What is stored for each form of bytes: exactly the bytes that the view shows. */
import { expect, test } from 'vitest';
import { asBytes, decodeMap, encodeMap } from '../../../../shared/dynamo/wire/attribute-value.ts';

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
