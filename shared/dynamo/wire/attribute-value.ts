/**
 * Converts native values to DynamoDB's attribute values in JSON, and back.
 *
 * Writes produce the same as the SDK's document client with `removeUndefinedValues`,
 * except that we store correctly, or refuse, what it writes wrongly:
 * it sends an `ArrayBuffer` as no bytes at all, loses a key `__proto__`, cannot store a key `constructor`, and mixes types in a set.
 * Reads never throw because of a number: a number beyond JavaScript's range becomes a `bigint` or a `WideNumber`,
 * so one damaged row does not hide all rows of the same read.
 */
import { base64Of, bytesOfBase64 } from '../../core/runtime/bytes.ts';
import type { WrappedNumber } from '../engine/capacity.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { within } from './unstorable.ts';

/** `{ "S": "text" }`. */
type AttributeValue = Readonly<Record<string, unknown>>;
export type AttributeMap = Record<string, AttributeValue>;

/** The form of bytes: base64 in JSON, unchanged for the SDK, which encodes them itself. */
export type BinaryForm = (bytes: Uint8Array) => unknown;

export const base64: BinaryForm = base64Of;
export const asBytes: BinaryForm = (bytes) => bytes;

/** The service allows 32 levels and reports deeper values itself. This limit detects circular values. */
const MAX_DEPTH = 100;

/** A number that JavaScript cannot represent, as the service wrote it. Has the shape of the document client's `NumberValue`. */
export class WideNumber implements WrappedNumber {
  readonly value: string;

  constructor(value: string) {
    this.value = value;
  }

  toAttributeValue(): { readonly N: string } {
    return { N: this.value };
  }

  toString(): string {
    return this.value;
  }
}

/**
 * Converts an item's attributes; `undefined` and functions are left out. @throws Error that names a value without a form, and the reason
 */
export function encodeMap(item: Readonly<DynamoItem>, binary: BinaryForm, depth = 0): AttributeMap {
  const encoded: AttributeMap = {};
  for (const name of Object.keys(item)) {
    const value = item[name];
    if (isAbsent(value)) continue;
    try {
      setOwn(encoded, name, encodeValue(value, binary, depth));
    } catch (error) {
      throw within(`.${name}`, value, error);
    }
  }
  return encoded;
}

function encodeValue(value: unknown, binary: BinaryForm, depth = 0): AttributeValue {
  switch (typeof value) {
    case 'string':
      return { S: value };
    case 'number':
      return { N: numberText(value) };
    case 'bigint':
      return { N: String(value) };
    case 'boolean':
      return { BOOL: value };
    case 'object':
      return value === null ? { NULL: true } : encodeObject(value, binary, depth + 1);
    default:
      throw new Error(NO_TYPE);
  }
}

/** @throws Error for a value that DynamoDB never writes */
export function decodeMap(item: unknown): DynamoItem {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) throw new Error('an item is not an object');
  const decoded: DynamoItem = {};
  const attributes = item as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(attributes)) setOwn(decoded, name, decodeValue(attributes[name]));
  return decoded;
}

const NO_TYPE = 'DynamoDB has no type for it';

function isAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'function';
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`Special numeric value ${value} is not allowed`);
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new Error(`Number ${value} is beyond what a number holds exactly: use a bigint`);
  return String(value);
}

function encodeObject(value: object, binary: BinaryForm, depth: number): AttributeValue {
  if (depth > MAX_DEPTH) throw new Error('it is nested too deeply, or contains itself');
  if (Array.isArray(value)) return { L: encodeList(value, binary, depth) };
  if (value instanceof Set) return encodeSet(value, binary);
  if (value instanceof Map) return { M: encodeMap(Object.fromEntries(value) as DynamoItem, binary, depth) };
  const bytes = bytesOf(value);
  if (bytes !== undefined) return { B: binary(bytes) };
  if (isWideNumber(value)) return { N: value.toAttributeValue().N };
  if (isBoxed(value)) return encodeValue(value.valueOf(), binary, depth);
  if (!isPlain(value)) throw new Error(NO_TYPE);
  return { M: encodeMap(value, binary, depth) };
}

function encodeList(list: readonly unknown[], binary: BinaryForm, depth: number): AttributeValue[] {
  const encoded: AttributeValue[] = [];
  for (const [index, element] of list.entries()) {
    if (isAbsent(element)) continue;
    try {
      encoded.push(encodeValue(element, binary, depth));
    } catch (error) {
      throw within(`[${index}]`, element, error);
    }
  }
  return encoded;
}

/** A set has the type of its first element, and only elements of that type. */
function encodeSet(set: ReadonlySet<unknown>, binary: BinaryForm): AttributeValue {
  const elements = [...set].filter((element) => element !== undefined);
  const [first] = elements;
  if (first === undefined) throw new Error('Pass a non-empty set');
  const kind = elementKind(first);
  if (kind === undefined) throw new Error('Only Number Set (NS), Binary Set (BS) or String Set (SS) are allowed');
  if (elements.some((element) => elementKind(element) !== kind)) throw new Error('the elements of a set have one type');
  return { [`${kind}S`]: elements.map((element) => encodeValue(element, binary)[kind]) };
}

function elementKind(element: unknown): 'S' | 'N' | 'B' | undefined {
  if (typeof element === 'string') return 'S';
  if (typeof element === 'number' || typeof element === 'bigint') return 'N';
  if (typeof element !== 'object' || element === null) return undefined;
  return isWideNumber(element) ? 'N' : bytesOf(element) === undefined ? undefined : 'B';
}

function bytesOf(value: object): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (value instanceof DataView) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined;
}

/** Judges by shape, because there may be several copies of the document client, each with its own class. */
function isWideNumber(value: object): value is WrappedNumber {
  return 'toAttributeValue' in value && typeof value.toAttributeValue === 'function';
}

function isBoxed(value: object): boolean {
  return value instanceof String || value instanceof Number || value instanceof Boolean;
}

/** Whether an object is plain: from an object literal, in this or another context, or without a prototype. */
function isPlain(value: object): value is DynamoItem {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

function decodeValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) throw new Error('an attribute has no type');
  for (const type in value) return decodeTyped(type, (value as AttributeValue)[type]);
  throw new Error('an attribute has no type');
}

function decodeTyped(type: string, value: unknown): unknown {
  switch (type) {
    case 'S':
      return text(value);
    case 'N':
      return readNumber(text(value));
    case 'M':
      return decodeMap(value);
    case 'L':
      return list(value).map(decodeValue);
    case 'BOOL':
      if (typeof value !== 'boolean') throw new Error('a boolean is neither true nor false');
      return value;
    case 'NULL':
      return null;
    case 'B':
      return bytes(value);
    case 'SS':
      return new Set(list(value).map(text));
    case 'NS':
      return new Set(list(value).map((element) => readNumber(text(element))));
    case 'BS':
      return new Set(list(value).map(bytes));
    default:
      throw new Error(`an attribute has the unknown type ${type.slice(0, 20)}`);
  }
}

function readNumber(digits: string): number | bigint | WideNumber {
  const nearest = Number(digits);
  if (Math.abs(nearest) <= Number.MAX_SAFE_INTEGER) return nearest;
  return /^-?\d+$/.test(digits) ? BigInt(digits) : new WideNumber(digits);
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error('an attribute is not text, as its type says');
  return value;
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error('an attribute is not a list, as its type says');
  return value;
}

function bytes(value: unknown): Uint8Array {
  // The SDK's client has decoded them already.
  return value instanceof Uint8Array ? value : bytesOfBase64(text(value));
}

/** `__proto__` is a normal name in DynamoDB, but an assignment treats it specially. */
function setOwn<Value>(target: Record<string, Value>, name: string, value: Value): void {
  if (name !== '__proto__') target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
