/**
 * Deflates and inflates text.
 *
 * Node does both synchronously. Other hosts have only streams: they can inflate (`inflatedByStream`), and write text as it is.
 */
import { hostModule } from './host.ts';

const zlib = hostModule('node:zlib');

/** Whether `inflatedText` works on this host. */
export const canInflateAtOnce = zlib?.inflateRawSync !== undefined;

/**
 * Returns raw deflate; undefined on a host without zlib.
 * The level is zlib's default. On 2 KB of JSON, level 9 saves less than 1 % and takes as long;
 * on 380 KB of two letters in random order it blocks the event loop for 840 ms, and the default for 50 ms.
 */
export function deflated(text: string): Uint8Array | undefined {
  const bytes = zlib?.deflateRawSync?.(text);
  return bytes && new Uint8Array(bytes);
}

/** Returns undefined if the bytes are not raw deflate, or inflate to more than `limitBytes`, which are never allocated. */
export function inflatedText(bytes: Uint8Array, limitBytes: number): string | undefined {
  try {
    return zlib?.inflateRawSync?.(bytes, { maxOutputLength: limitBytes }).toString();
  } catch {
    return undefined;
  }
}

/** The same with the web's stream API. */
export async function inflatedByStream(bytes: Uint8Array, limitBytes: number): Promise<string | undefined> {
  try {
    const body = new Response(bytes as Uint8Array<ArrayBuffer>).body;
    const reader = body?.pipeThrough(new DecompressionStream('deflate-raw')).getReader();
    return reader && (await textWithin(reader, limitBytes));
  } catch {
    return undefined;
  }
}

async function textWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limitBytes: number,
): Promise<string | undefined> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limitBytes) {
      await reader.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}
