/**
 * DynamoDB's charges: our own model, because emulators disagree with the service and with each other.
 *
 * | request | write units of the table | write units of each index |
 * | --- | --- | --- |
 * | put, update | the larger item of before and after, per KB | by the change of its entry |
 * | delete | the item deleted, at least 1 | 1 per KB of the entry, if there was one |
 * | in a transaction | twice as many, a condition check included | the same as outside |
 * | refused by its condition | the item that refused it, at least 1 | none |
 *
 * An index is charged for its projected entry: created or removed, per KB; changed in place, the larger of the two;
 * moved to another key, both; unchanged, nothing.
 * Reads are charged per 4 KB, half when eventually consistent: each item of a get or a batch rounded by itself,
 * the items that a query walks summed first, before any filter or projection.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import { isSame } from '../../core/runtime/same.ts';
import type { DynamoItem } from './driver.ts';

/** An index's cost follows from its keys, the table's keys and its projection. */
export interface IndexShape {
  readonly name: string;
  /** Partition key, then the sort key if there is one. */
  readonly keys: readonly string[];
  readonly projection: 'ALL' | 'KEYS_ONLY' | { readonly include: readonly string[] };
}

export interface TableShape {
  readonly keys: readonly string[];
  readonly indexes: readonly IndexShape[];
}

/** `NumberValue` of the document client: a number that JavaScript cannot represent, as text. */
export interface WrappedNumber {
  toAttributeValue(): { readonly N: string };
  toString(): string;
}

/** An item and its size, which is computed once and used often. */
export interface SizedItem {
  readonly item: DynamoItem;
  readonly bytes: number;
}

export interface WriteUnits {
  readonly table: number;
  /** Only the indexes that the write touched. */
  readonly indexes: Readonly<Record<string, number>>;
}

export const WRITE_UNIT_BYTES = 1024;
const READ_UNIT_BYTES = 4096;
/** Prepare and commit. */
export const TRANSACTION_FACTOR = 2;

/** Names and values; the 100 bytes of overhead that storage is billed for do not count here. */
export function itemSizeBytes(item: DynamoItem): number {
  let bytes = 0;
  for (const name in item) bytes += textSizeBytes(name) + valueSizeBytes(item[name]);
  return bytes;
}

/** @param value in document form; a list or map adds 3 bytes, and one for each member */
export function valueSizeBytes(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return textSizeBytes(value);
    case 'number':
    case 'bigint':
      return numberSizeBytes(value);
    case 'object':
      return value === null ? 1 : containerSizeBytes(value);
    default:
      return 1;
  }
}

/**
 * Numbers are stored in base 100, aligned at the decimal point: one byte for each pair of digits between the first
 * and the last that are not zero, one more for the exponent, and one for a minus.
 * So 100 is as large as 1, and 120 is larger than 12.
 * Emulators and measurements of the service agree on this to the byte, with one exception that no measurement decides.
 */
export function numberSizeBytes(value: number | bigint | WrappedNumber): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return integerSizeBytes(value);
  const { isNegative, digits, point } = significantDigits(String(value));
  if (digits === '') return 1;
  const pairs = Math.floor((point - 1) / 2) - Math.floor((point - digits.length) / 2) + 1;
  return 1 + pairs + (isNegative ? 1 : 0);
}

/**
 * Splits a decimal number into its digits, without zeros at either end, and the position of its point.
 * `-0.0125` has the digits `125` and the point at -1; zero has none.
 */
export function significantDigits(text: string): { isNegative: boolean; digits: string; point: number } {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [before = '', after = ''] = mantissa.replace(/^[-+]/, '').split('.');
  const all = before + after;
  const digits = all.replace(/^0+/, '');
  const leadingZeros = all.length - digits.length;
  return {
    isNegative: mantissa.startsWith('-'),
    digits: digits.replace(/(?<!0)0+$/, ''),
    point: before.length - leadingZeros + Number(exponent),
  };
}

export function writeUnitsOfBytes(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));
}

export function readUnitsOfBytes(bytes: number, options: { readonly consistent: boolean }): number {
  const units = Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES));
  return options.consistent ? units : units / 2;
}

export function sized(item: DynamoItem): SizedItem {
  return { item, bytes: itemSizeBytes(item) };
}

/** Cost of one write. Without `before` it created the item; without `after` it deleted the item. */
export function writeUnits(table: TableShape, before: SizedItem | undefined, after: SizedItem | undefined): WriteUnits {
  const indexes: Record<string, number> = {};
  for (const index of table.indexes) {
    const units = indexWriteUnits(table, index, before, after);
    if (units > 0) indexes[index.name] = units;
  }
  return { table: writeUnitsOfBytes(Math.max(before?.bytes ?? 0, after?.bytes ?? 0)), indexes };
}

/** A transaction doubles the table's charge, but not the indexes' charges. */
export function inTransaction(units: WriteUnits): WriteUnits {
  return { table: units.table * TRANSACTION_FACTOR, indexes: units.indexes };
}

/** A false condition is charged for the item that made it false, and does not affect indexes. */
export function refusedUnits(item: SizedItem | undefined): WriteUnits {
  return { table: writeUnitsOfBytes(item?.bytes ?? 0), indexes: {} };
}

/** A transaction that is recognised by its token is charged as a transactional read of the items that it wrote. */
export function replayUnits(itemBytes: number): number {
  return readUnitsOfBytes(itemBytes, { consistent: true }) * TRANSACTION_FACTOR;
}

/** An index's charge for a write: 0 if its entry did not change. */
function indexWriteUnits(
  table: TableShape,
  index: IndexShape,
  before: SizedItem | undefined,
  after: SizedItem | undefined,
): number {
  const left = before !== undefined && isIndexed(index, before.item) ? before : undefined;
  const right = after !== undefined && isIndexed(index, after.item) ? after : undefined;
  if (left !== undefined && right !== undefined && isSameEntry(index, left.item, right.item)) return 0;

  const leftUnits = left === undefined ? 0 : writeUnitsOfBytes(entrySizeBytes(table, index, left));
  const rightUnits = right === undefined ? 0 : writeUnitsOfBytes(entrySizeBytes(table, index, right));
  const stays =
    left !== undefined && right !== undefined && index.keys.every((key) => isSame(left.item[key], right.item[key]));
  return stays ? Math.max(leftUnits, rightUnits) : leftUnits + rightUnits;
}

/** The number of bytes of an item that an index stores. */
export function entrySizeBytes(table: TableShape, index: IndexShape, { item, bytes }: SizedItem): number {
  if (index.projection === 'ALL') return bytes;
  let sum = 0;
  for (const name of entryNames(table, index)) {
    if (item[name] !== undefined) sum += textSizeBytes(name) + valueSizeBytes(item[name]);
  }
  return sum;
}

/** The attributes of an index: its keys, the table's keys and the rest of its projection. */
function entryNames(table: TableShape, index: IndexShape): readonly string[] {
  let names = entryNamesOf.get(index);
  if (names === undefined) {
    names = [...new Set([...table.keys, ...projectedNames(index)])];
    entryNamesOf.set(index, names);
  }
  return names;
}

const entryNamesOf = new WeakMap<IndexShape, readonly string[]>();

/** Indexes are sparse: an item has an entry only if it has all keys of the index. */
function isIndexed(index: IndexShape, item: DynamoItem): boolean {
  return index.keys.every((key) => item[key] !== undefined);
}

function projectedNames(index: IndexShape): readonly string[] {
  return typeof index.projection === 'object' ? [...index.keys, ...index.projection.include] : index.keys;
}

/** UTF-8 bytes. Keys and names are short and mostly ASCII, for which a loop beats the call. */
function textSizeBytes(text: string): number {
  const { length } = text;
  if (length > LONG_TEXT) return utf8Bytes(text);
  for (let at = 0; at < length; at++) {
    if (text.charCodeAt(at) > 0x7f) return utf8Bytes(text);
  }
  return length;
}

const LONG_TEXT = 64;

function containerSizeBytes(value: object): number {
  if (Array.isArray(value)) {
    return (value as unknown[]).reduce<number>((sum, element) => sum + 1 + valueSizeBytes(element), 3);
  }
  if (value instanceof Uint8Array) return value.byteLength;
  if (isWrappedNumber(value)) return numberSizeBytes(value);
  if (value instanceof Set) {
    let bytes = 0;
    for (const element of value) bytes += valueSizeBytes(element);
    return bytes;
  }
  let bytes = 3;
  for (const [name, member] of Object.entries(value)) bytes += 1 + textSizeBytes(name) + valueSizeBytes(member);
  return bytes;
}

/** A faster path for common numbers, without splitting their text. */
function integerSizeBytes(value: number): number {
  let rest = Math.abs(value);
  if (rest === 0) return 1;
  while (rest % 100 === 0) rest /= 100;
  let bytes = value < 0 ? 2 : 1;
  for (; rest > 0; rest = Math.floor(rest / 100)) bytes++;
  return bytes;
}

/** Recognized by its method and not by `instanceof`, because packages have their own copies of the class. */
function isWrappedNumber(value: object): value is WrappedNumber {
  return 'toAttributeValue' in value && typeof value.toAttributeValue === 'function';
}

function isSameEntry(index: IndexShape, left: DynamoItem, right: DynamoItem): boolean {
  if (left === right) return true;
  if (index.projection !== 'ALL') return projectedNames(index).every((name) => isSameValue(left[name], right[name]));
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => isSameValue(left[name], right[name]));
}

/** Sets are unordered, so a rewritten set is not a change. */
function isSameValue(left: unknown, right: unknown): boolean {
  return left === right || isSame(left, right);
}
