/** The elements of a journal as they are stored: the newest in the task's row, deflated together; the older ones in separate rows. */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import { deflated, inflatedText } from '../../core/runtime/deflate.ts';
import type { Element } from './entry.ts';

/** An element in a row: text, or a list of texts, deflated. */
export type PackedElement = string | Uint8Array;

/** Deflating shorter texts saves nothing. */
const DEFLATE_FROM_BYTES = 200;
/** The limit of an inflated element. A write of a holder has at most 1 MB. */
const INFLATED_LIMIT_BYTES = 4 * 1_024 * 1_024;
/** A part's row has at most 400 KB, even if its text cannot be deflated. */
const PART_BYTES = 300 * 1_024;

export function packed(texts: readonly string[]): {
  readonly elements: readonly PackedElement[];
  readonly bytes: number;
} {
  const plain = texts.reduce((sum, text) => sum + utf8Bytes(text), 0);
  const short = plain < DEFLATE_FROM_BYTES ? undefined : deflated(JSON.stringify(texts));
  return short === undefined || short.byteLength >= plain
    ? { elements: texts, bytes: plain }
    : { elements: [short], bytes: short.byteLength };
}

/** @throws Error for an element that cannot be read */
export function unpacked(element: PackedElement): readonly string[] {
  if (typeof element === 'string') return [element];
  const text = inflatedText(element, INFLATED_LIMIT_BYTES);
  if (text === undefined) throw new Error('an element of the journal is no raw deflate');
  return JSON.parse(text) as string[];
}

/** Texts that fit into a row each. */
export function partsOf(texts: readonly string[]): readonly string[] {
  const parts: string[][] = [[]];
  let bytes = 0;
  for (const text of texts.flatMap(split)) {
    const size = utf8Bytes(text);
    if (bytes + size > PART_BYTES && bytes > 0) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(text);
    bytes += size;
  }
  return parts.map((part) => JSON.stringify(part));
}

/** The elements of a part. */
export function elementsOfPart(part: string): readonly string[] {
  return JSON.parse(part) as string[];
}

/** An entry has at most 256 KB, so each fits. */
function split(text: string): readonly string[] {
  if (utf8Bytes(text) <= PART_BYTES) return [text];
  const { e, ...whose } = JSON.parse(text) as Element;
  return e.map((entry) => JSON.stringify({ ...whose, e: [entry] } satisfies Element));
}
