/**
 * JSON in a row: as text (S), or the same text deflated (B).
 *
 * A write is billed by the size of its row, and a row without its JSON has about 350 bytes. So JSON of 700 bytes or more makes
 * a row of more than one write unit, in each of the writes of a task's life. Shorter JSON stays text, which people can read.
 * Both forms mean the same everywhere: `ItemReader` reads both, and no statement compares the bytes.
 * Other programs may write either form.
 */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import { canInflateAtOnce, deflated, inflatedText } from '../../core/runtime/deflate.ts';

export const DEFLATE_FROM_BYTES = 700;
/** An item's limit of 400 KB: deflated or not, JSON is never larger. */
export const INFLATED_LIMIT_BYTES = 400 * 1024;
/** Attributes that may be deflated; a payload's `text` too, which only workers read. */
export const DEFLATABLE: ReadonlySet<string> = new Set(['input', 'result', 'results', 'progress']);

export type StoredText = string | Uint8Array;

export function storedJson(value: unknown): StoredText {
  return storedText(JSON.stringify(value));
}

/** Returns the text itself if it is short, if deflating does not make it shorter, or on a host without zlib. */
export function storedText(text: string, fromBytes = DEFLATE_FROM_BYTES): StoredText {
  const bytes = utf8Bytes(text);
  if (bytes < fromBytes) return text;
  const short = deflated(text);
  return short !== undefined && short.byteLength < bytes ? short : text;
}

/** @throws Error that names the fault, without repeating the text */
export function textOf(stored: StoredText, limitBytes = INFLATED_LIMIT_BYTES): string {
  if (typeof stored === 'string') return stored;
  const text = inflatedText(stored, limitBytes);
  if (text !== undefined) return text;
  const reason = canInflateAtOnce ? '' : ', or this runtime has no DecompressionStream';
  throw new Error(`cannot be inflated: it is no raw deflate, or of more than ${limitBytes} bytes${reason}`);
}
