/** The parts of a task row that only packs have. */
import type { PackState } from '../../task/task.ts';
import type { Json } from '../../task/task.ts';
import type { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import type { StoredText } from '../../../dynamo/engine/stored-json.ts';
import { storedText } from '../../../dynamo/engine/stored-json.ts';

/** Returns the input of a task. The input of a pack is a list. @throws CorruptItemError */
export function decodeInput(row: ItemReader): Json {
  if (!row.has('total')) return row.json('input');
  const input = row.json('input');
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

/** Deflated at any size: only its worker reads a pack, and its row grows with the records of its items. */
export function encodeInput(input: readonly Json[]): StoredText {
  return storedText(JSON.stringify(input), 0);
}
