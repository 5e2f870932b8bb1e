/** The body of a response from `fetch`: already decompressed, although its header may still name the encoding. */
import type { Answer } from './answer.ts';
import { MAX_ANSWER_BYTES } from './answer.ts';

/** @throws Error unless it is complete and text */
export function textOfFetched({ headers, body }: Answer): string {
  const { 'x-amz-crc32': sum, 'content-encoding': encoding = 'identity' } = headers;
  // The checksum covers the bytes as sent, but the bytes of a compressed body are not available.
  if (sum !== undefined && encoding === 'identity' && Number(sum) !== crc32(body))
    throw new Error('its checksum does not match');
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
}

/** Reads the whole body. @throws if it is incomplete, or longer than any response of DynamoDB */
export async function bytesOfFetched(response: Response): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array();
  const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    length += value.length;
    if (length > MAX_ANSWER_BYTES) {
      await reader.cancel();
      throw new Error(`the response is longer than ${MAX_ANSWER_BYTES} bytes`);
    }
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

/** The CRC-32 of zip files. Exported so that a test can compare it with zlib's. */
export function crc32(bytes: Uint8Array): number {
  let rest = -1;
  for (const byte of bytes) rest = (CRC_TABLE[(rest ^ byte) & 0xff] ?? 0) ^ (rest >>> 8);
  return ~rest >>> 0;
}

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0);
  return rest;
});
