/**
 * The boundary of the store: values are copied in, checked and made canonical, and copied out again.
 * Callers never hold the store's own objects.
 * Values that the document client would refuse to translate are refused here with a validation error.
 */
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { WideNumber } from '../../dynamo/wire/attribute-value.ts';
import type { StoredElement, StoredItem, StoredMap, StoredSet, StoredValue } from './attribute-value.ts';
import { emptyMap, identityOf, isList, isMap, isSet, typeOf } from './attribute-value.ts';
import { isWrappedNumber, storedNumber } from './exact-number.ts';
import { validationFault } from './fault.ts';

/** Lists and maps inside an attribute; the item itself is the first of the 32 levels. */
export const DEEPEST_NESTING = 31;

/** @throws DynamoFault for what DynamoDB cannot hold */
export function copyItemIn(item: DynamoItem): StoredItem {
  return copyMapIn(item);
}

/** @throws DynamoFault for what DynamoDB cannot hold */
export function copyIn(value: unknown): StoredValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
    case 'bigint':
      return storedNumber(value);
    case 'object':
      return value === null ? null : copyObjectIn(value);
    default:
      throw validationFault(`Unsupported type passed: ${typeof value}`);
  }
}

export function copyItemOut(item: StoredItem): DynamoItem {
  const copy: DynamoItem = {};
  for (const name in item) setOwn(copy, name, copyOut(item[name] as StoredValue));
  return copy;
}

/** As our driver decodes it: a fraction that JavaScript cannot hold exactly comes out rounded, and beyond all that it can, as text. */
function copyOut(value: StoredValue): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map(copyOut);
  if (isSet(value)) return new Set([...value].map(copyOut));
  if (value instanceof Uint8Array) return value.slice();
  if (isMap(value)) return copyItemOut(value);
  const rounded = Number(value.value);
  return Math.abs(rounded) > Number.MAX_SAFE_INTEGER ? new WideNumber(value.value) : rounded;
}

/** Levels of lists and maps in a value: 0 for a scalar. */
export function nestingOf(value: StoredValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = isList(value) ? value : isMap(value) ? Object.values(value) : undefined;
  if (members === undefined) return 0;
  return 1 + members.reduce<number>((deepest, member) => Math.max(deepest, nestingOf(member)), 0);
}

/** Whether the document client omits the value. */
function isAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'function';
}

function copyObjectIn(value: object): StoredValue {
  if (Array.isArray(value)) return value.filter((element) => !isAbsent(element)).map(copyIn);
  if (value instanceof Set) return copySetIn(value);
  if (value instanceof Map) return copyMapIn(Object.fromEntries(value) as DynamoItem);
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (isWrappedNumber(value)) return storedNumber(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) {
    throw validationFault(`Unsupported type passed: ${value.constructor.name}`);
  }
  return copyMapIn(value as DynamoItem);
}

function copyMapIn(map: DynamoItem): StoredMap {
  const copy = emptyMap();
  for (const name in map) {
    const value = map[name];
    if (isAbsent(value)) continue;
    if (name === '') throw validationFault('Empty attribute name');
    copy[name] = copyIn(value);
  }
  return copy;
}

function copySetIn(set: ReadonlySet<unknown>): StoredSet {
  const copy = new Map<unknown, StoredElement>();
  let elements = 0;
  for (const element of set) {
    if (element === undefined) continue;
    const stored = copyElementIn(element);
    copy.set(identityOf(stored), stored);
    elements++;
  }
  if (elements === 0) {
    throw validationFault('One or more parameter values were invalid: An string set  may not be empty');
  }
  if (copy.size !== elements) {
    throw validationFault('One or more parameter values were invalid: Input collection contains duplicates');
  }
  const members = new Set(copy.values());
  if (new Set([...members].map(typeOf)).size > 1) {
    throw validationFault('One or more parameter values were invalid: The elements of a set must have one type');
  }
  return members;
}

function copyElementIn(element: unknown): StoredElement {
  if (typeof element === 'string') return element;
  if (typeof element === 'number' || typeof element === 'bigint') return storedNumber(element);
  if (element instanceof Uint8Array) return Uint8Array.from(element);
  if (typeof element === 'object' && element !== null && isWrappedNumber(element)) {
    return storedNumber(element);
  }
  throw validationFault('Only Number Set (NS), Binary Set (BS) or String Set (SS) are allowed.');
}

/** `__proto__` is a name like any other here, but not for an assignment to a plain object. */
function setOwn(target: DynamoItem, name: string, value: unknown): void {
  if (name !== '__proto__') {
    target[name] = value;
    return;
  }
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
