import { ConfigurationError, CorruptItemError, messageOf } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { JSON_DEPTH_LIMIT, isTooDeep, notJson } from '../../core/json.ts';
import { NAME_LIMIT_BYTES } from '../../core/validate/options.ts';
import type { DynamoItem } from './driver.ts';
import { joinKey, splitKey } from './keys.ts';
import { SCHEMA_VERSION } from './schema.ts';
import { textOf } from './stored-json.ts';

/**
 * Reads a row's attributes with their types checked.
 * A row that does not decode fails closed, and only for its own key: every method throws `CorruptItemError`.
 */
export class ItemReader {
  readonly key: string;
  readonly #item: DynamoItem;
  /** If the reader reads a map in the row: the names above the map. */
  readonly #path: string;

  constructor(item: DynamoItem, within?: { readonly key: string; readonly path: string }) {
    this.#item = item;
    this.#path = within?.path ?? '';
    this.key = within?.key ?? (typeof item.pk === 'string' ? item.pk : 'without a key');
    if (within !== undefined) return;
    const version = this.number('v');
    if (version !== SCHEMA_VERSION)
      throw this.corrupt(
        'v',
        `is ${version}, another version of the rows than this code reads (${SCHEMA_VERSION}): name another table, or delete this one`,
      );
  }

  string(attribute: string): string {
    const value = this.#item[attribute];
    if (typeof value !== 'string') throw this.corrupt(attribute, `should be a string and is ${describe(value)}`);
    return value;
  }

  /** The id of a session, by which its row is read. */
  session(attribute: string): string {
    return this.shortString(attribute, NAME_LIMIT_BYTES);
  }

  /** Checks the name of another row. @throws CorruptItemError if the name is too long for a key, which a caller cannot have caused */
  ensureNamable(attribute: string, keyOf: () => unknown): void {
    try {
      keyOf();
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      throw this.corrupt(attribute, 'holds a name that is too long for a key');
    }
  }

  /** A text that this process parses, and another wrote. */
  shortString(attribute: string, limitCharacters: number): string {
    const value = this.string(attribute);
    if (value.length > limitCharacters)
      throw this.corrupt(attribute, `has ${value.length} characters, and at most ${limitCharacters} are allowed`);
    return value;
  }

  number(attribute: string): number {
    const value = this.#item[attribute];
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw this.corrupt(attribute, `should be a number and is ${describe(value)}`);
    return value;
  }

  /** A count or a timestamp: whole, not negative, and exact in a JavaScript number. */
  count(attribute: string): number {
    const value = this.number(attribute);
    if (!Number.isSafeInteger(value) || value < 0)
      throw this.corrupt(attribute, `should be a whole number and is ${value}`);
    return value;
  }

  numberOrNull(attribute: string): number | null {
    return this.#item[attribute] === null ? null : this.number(attribute);
  }

  oneOf<T extends string>(attribute: string, allowed: readonly T[]): T {
    const value = this.string(attribute);
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined)
      throw this.corrupt(
        attribute,
        `should be one of ${allowed.join(', ')} and is ${JSON.stringify(value.slice(0, 40))}`,
      );
    return found;
  }

  boolean(attribute: string): boolean {
    const value = this.#item[attribute];
    if (typeof value !== 'boolean') throw this.corrupt(attribute, `should be true or false and is ${describe(value)}`);
    return value;
  }

  strings(attribute: string): readonly string[] {
    const value = this.#item[attribute];
    const isList = Array.isArray(value) && value.every((element) => typeof element === 'string');
    if (!isList) throw this.corrupt(attribute, `should be a list of strings and is ${describe(value)}`);
    return value;
  }

  /** A set of counts. Absent: empty, because DynamoDB cannot store an empty set. */
  numbers(attribute: string): ReadonlySet<number> {
    const value = this.has(attribute) ? this.#item[attribute] : new Set();
    const isSet = value instanceof Set && [...value].every((element) => Number.isSafeInteger(element) && element >= 0);
    if (!isSet) throw this.corrupt(attribute, `should be a set of numbers and is ${describe(value)}`);
    return value as ReadonlySet<number>;
  }

  texts(attribute: string): ReadonlySet<string> {
    const value = this.#item[attribute];
    const isSet = value instanceof Set && [...value].every((element) => typeof element === 'string');
    if (!isSet) throw this.corrupt(attribute, `should be a set of strings and is ${describe(value)}`);
    return value as ReadonlySet<string>;
  }

  isBinary(attribute: string): boolean {
    return this.#item[attribute] instanceof Uint8Array;
  }

  list(attribute: string): readonly unknown[] {
    const value: unknown = this.#item[attribute];
    if (!Array.isArray(value)) throw this.corrupt(attribute, `should be a list and is ${describe(value)}`);
    return value;
  }

  binary(attribute: string): Uint8Array {
    const value = this.#item[attribute];
    if (!(value instanceof Uint8Array)) throw this.corrupt(attribute, `should be binary and is ${describe(value)}`);
    return value;
  }

  /** Reads a map in the row; undefined if there is none. */
  nested<T>(attribute: string, read: (map: ItemReader) => T): T | undefined {
    if (!this.has(attribute)) return undefined;
    return read(new ItemReader(this.map(attribute), { key: this.key, path: `${this.#path}${attribute}.` }));
  }

  map(attribute: string): DynamoItem {
    const value = this.#item[attribute];
    if (!isMap(value)) throw this.corrupt(attribute, `should be a map and is ${describe(value)}`);
    return value;
  }

  /** A text that was stored unchanged or deflated. */
  text(attribute: string, limitBytes?: number): string {
    const stored = this.isBinary(attribute) ? this.binary(attribute) : this.string(attribute);
    try {
      return textOf(stored, limitBytes);
    } catch (error) {
      throw this.corrupt(attribute, messageOf(error));
    }
  }

  /** A value that was stored as JSON, deflated or not. */
  json(attribute: string): Json {
    const value = this.#parsed(attribute);
    // It may be written again.
    if (isTooDeep(value)) throw this.corrupt(attribute, `should be nested at most ${JSON_DEPTH_LIMIT} deep`);
    return value;
  }

  #parsed(attribute: string): Json {
    const text = this.text(attribute);
    try {
      return JSON.parse(text) as Json;
    } catch (cause) {
      throw this.corrupt(attribute, `is ${notJson(cause)}`);
    }
  }

  /**
   * The last part of a key such as `task#<queue>#<id>`. It is no attribute: other tables have the key `id`, and would take the row.
   */
  get idOfQueue(): string {
    return splitKey(this.key)[2] ?? '';
  }

  /** The row's key must match its attributes, because writes derive the key from these and would otherwise reach another row. */
  ensureKey(parts: readonly string[]): void {
    if (joinKey(parts) !== this.key)
      throw this.corrupt('pk', `does not fit the ${parts[0] ?? 'row'} that the row says it is`);
  }

  has(attribute: string): boolean {
    return this.#item[attribute] !== undefined;
  }

  optional<T>(attribute: string, read: (attribute: string) => T): T | undefined {
    return this.has(attribute) ? read(attribute) : undefined;
  }

  corrupt(attribute: string, found: string): CorruptItemError {
    return new CorruptItemError(this.key, this.#path + attribute, found);
  }
}

/** Lists, sets, bytes and numbers beyond JavaScript's range are objects too. */
function isMap(value: unknown): value is DynamoItem {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function describe(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (value instanceof Set) return 'a set';
  if (value instanceof Uint8Array) return 'binary';
  if (Array.isArray(value)) return 'a list';
  if (isMap(value)) return 'a map';
  // A `bigint` is a number to DynamoDB, and so is the object for digits that no `bigint` holds.
  return typeof value === 'object' || typeof value === 'bigint'
    ? 'a number too large to be exact'
    : `a ${typeof value}`;
}
