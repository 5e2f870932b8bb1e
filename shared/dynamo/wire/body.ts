/** The body of a response from Node's transports, unchanged as it was sent. */
import { isUtf8 } from 'node:buffer';
import { crc32, gunzipSync } from 'node:zlib';
import type { Answer } from './answer.ts';
import { MAX_ANSWER_BYTES } from './answer.ts';

/** @throws Error unless it is complete and text */
export function textOfBody(answer: Answer): string {
  const body = unpacked(answer);
  if (!isUtf8(body)) throw new Error('it is not text');
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}

/** The checksum covers the bytes as sent. */
function unpacked({ headers, body }: Answer): Uint8Array {
  const [sum, encoding = 'identity'] = [headers['x-amz-crc32'], headers['content-encoding']];
  if (sum !== undefined && Number(sum) !== crc32(body)) throw new Error('its checksum does not match');
  if (encoding === 'identity') return body;
  if (encoding !== 'gzip') throw new Error(`it is encoded as ${encoding}`);
  return gunzipSync(body, { maxOutputLength: MAX_ANSWER_BYTES });
}
