/** The parts of a task row that only packs have. */
import { ConfigurationError, messageOf } from '../../../core/errors.ts';
import { notJson } from '../../../core/json.ts';
import { utf8Bytes } from '../../../core/runtime/bytes.ts';
import { deflated, inflatedText } from '../../../core/runtime/deflate.ts';
import type { PackState } from '../../task/task.ts';
import { PACK_INPUT_LIMIT_BYTES } from '../../task/pack.ts';
import type { Json } from '../../task/task.ts';
import { INPUT_LIMIT_BYTES } from '../../task/task.ts';
import type { ItemReader } from '../../../dynamo/engine/item-reader.ts';

/** The input of a task: of a pack, a list. @throws CorruptItemError */
export function decodeInput(row: ItemReader): Json {
  if (!row.has('total')) return row.json('input');
  const input = row.isBinary('input') ? inflated(row) : row.json('input');
  if (!Array.isArray(input) || input.length !== row.count('total'))
    throw row.corrupt('input', `should be a list of the ${row.count('total')} items that the pack has`);
  return input as readonly Json[];
}

/** Returns the state of the items; undefined for a task that is not a pack. @throws CorruptItemError */
export function decodePack(row: ItemReader): PackState | undefined {
  if (!row.has('total')) return undefined;
  const total = row.count('total');
  const indexes = (attribute: string): ReadonlySet<number> => {
    const found = row.numbers(attribute);
    for (const index of found) if (!(index < total)) throw row.corrupt(attribute, `names item ${index} of ${total}`);
    return found;
  };
  return {
    done: indexes('done'),
    moved: indexes('moved'),
    cancelled: indexes('cancelled'),
    results: row.has('results') ? (row.json('results') as PackState['results']) : {},
    sequence: row.optional('sequence', (attribute) => row.count(attribute)) ?? 0,
  };
}

/** As text, which people can read, or deflated if that is shorter and possible synchronously. */
export function encodeInput(input: readonly Json[]): string | Uint8Array {
  const text = JSON.stringify(input);
  const packed = deflated(text);
  return packed !== undefined && packed.byteLength < utf8Bytes(text) ? packed : text;
}

/** A pack is cut at the one limit, unless a single item is as large as the other allows. */
const INFLATED_LIMIT_BYTES = PACK_INPUT_LIMIT_BYTES + INPUT_LIMIT_BYTES;

function inflated(row: ItemReader): unknown {
  let text: string | undefined;
  try {
    text = inflatedText(row.binary('input'), INFLATED_LIMIT_BYTES);
  } catch (error) {
    throw row.corrupt('input', `cannot be inflated: ${messageOf(error)}`);
  }
  try {
    if (text !== undefined) return JSON.parse(text);
  } catch (error) {
    throw row.corrupt('input', `is ${notJson(error)}`);
  }
  throw new ConfigurationError(
    `${row.key} is a pack of many small tasks whose inputs are deflated, and this runtime cannot inflate them: read it where Node runs`,
  );
}
