/**
 * Attribute values as the store holds them: the document form, frozen by convention.
 *
 * Items are copied when they come in and when they go out, and never changed in between;
 * an update makes a new item that shares what it did not change.
 * Maps have no prototype, so that an attribute called `constructor` is an attribute like any other.
 */
import { compareNumbers, isWrappedNumber } from './exact-number.ts';
import type { StoredNumber } from './exact-number.ts';
import { compareBytes, compareText } from './text-order.ts';

export type StoredElement = string | StoredNumber | Uint8Array;
export type StoredSet = ReadonlySet<StoredElement>;
export type StoredList = readonly StoredValue[];
export interface StoredMap {
  readonly [name: string]: StoredValue;
}
export type StoredValue = StoredElement | boolean | null | StoredSet | StoredList | StoredMap;
export type StoredItem = StoredMap;

export type AttributeType = 'S' | 'N' | 'B' | 'BOOL' | 'NULL' | 'L' | 'M' | 'SS' | 'NS' | 'BS';

/** Distinguishes a key or set element from others of its type. A primitive, so that maps and `===` can use it. */
export type Identity = string | number | bigint;

export function typeOf(value: StoredValue): AttributeType {
  switch (typeof value) {
    case 'string':
      return 'S';
    case 'number':
    case 'bigint':
      return 'N';
    case 'boolean':
      return 'BOOL';
    default:
      return value === null ? 'NULL' : typeOfObject(value);
  }
}

export function isMap(value: StoredValue): value is StoredMap {
  return typeof value === 'object' && value !== null && typeOfObject(value) === 'M';
}

export function isList(value: StoredValue): value is StoredList {
  return Array.isArray(value);
}

export function isSet(value: StoredValue): value is StoredSet {
  return value instanceof Set;
}

export function isNumber(value: StoredValue): value is StoredNumber {
  return typeOf(value) === 'N';
}

export function identityOf(element: StoredElement): Identity {
  if (typeof element !== 'object') return element;
  if (element instanceof Uint8Array) return Buffer.from(element).toString('latin1');
  return element.value;
}

/** DynamoDB's `=`: types must agree, maps and sets have no order. */
export function isEqual(left: StoredValue, right: StoredValue): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  const type = typeOfObject(left);
  if (type !== typeOfObject(right)) return false;
  switch (type) {
    case 'L':
      return isEqualList(left as StoredList, right as StoredList);
    case 'M':
      return isEqualMap(left as StoredMap, right as StoredMap);
    case 'SS':
    case 'NS':
    case 'BS':
      return isEqualSet(left as StoredSet, right as StoredSet);
    default:
      return identityOf(left as StoredElement) === identityOf(right as StoredElement);
  }
}

/** The order of strings, numbers and binaries; nothing for other types, or for two different ones. */
export function compareValues(left: StoredValue, right: StoredValue): number | undefined {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'string') return typeof right === 'string' ? compareText(left, right) : undefined;
  if (isNumber(left)) return isNumber(right) ? compareNumbers(left, right) : undefined;
  if (left instanceof Uint8Array && right instanceof Uint8Array) return compareBytes(left, right);
  return undefined;
}

export function hasElement(set: StoredSet, element: StoredElement): boolean {
  if (set.has(element)) return true;
  if (typeof element !== 'object') return false;
  const identity = identityOf(element);
  for (const member of set) {
    if (typeof member === 'object' && identityOf(member) === identity) return true;
  }
  return false;
}

type MutableMap = Record<string, StoredValue>;

/** Faster than `Object.create(null)`, which the engine keeps as a hash table. */
const WithoutPrototype = function () {
  // Nothing to set up: what matters is the prototype below.
} as unknown as new () => MutableMap;
WithoutPrototype.prototype = Object.create(null) as object;

export function emptyMap(): MutableMap {
  return new WithoutPrototype();
}

/** Returns the named attributes that the item has. */
export function picked(item: StoredMap, names: Iterable<string>): MutableMap {
  const part = emptyMap();
  for (const name of names) {
    const value = item[name];
    if (value !== undefined) part[name] = value;
  }
  return part;
}

/** A shallow copy to change. */
export function changeable(map: StoredMap): MutableMap {
  const copy = emptyMap();
  for (const name in map) copy[name] = map[name] as StoredValue;
  return copy;
}

/** An object that loses a property is slow from then on; one that never had it is not. */
export function changeableWithout(map: StoredMap, removed: ReadonlySet<string>): MutableMap {
  const copy = emptyMap();
  for (const name in map) if (!removed.has(name)) copy[name] = map[name] as StoredValue;
  return copy;
}

function typeOfObject(value: object): AttributeType {
  if (Array.isArray(value)) return 'L';
  if (value instanceof Set) return typeOfSet(value as StoredSet);
  if (value instanceof Uint8Array) return 'B';
  return isWrappedNumber(value) ? 'N' : 'M';
}

function typeOfSet(set: StoredSet): AttributeType {
  const [first] = set;
  if (typeof first === 'string') return 'SS';
  return first instanceof Uint8Array ? 'BS' : 'NS';
}

function isEqualList(left: StoredList, right: StoredList): boolean {
  return left.length === right.length && left.every((element, at) => isEqual(element, right[at] as StoredValue));
}

function isEqualMap(left: StoredMap, right: StoredMap): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => {
    const other = right[name];
    return other !== undefined && isEqual(left[name] as StoredValue, other);
  });
}

function isEqualSet(left: StoredSet, right: StoredSet): boolean {
  if (left.size !== right.size) return false;
  for (const element of left) if (!hasElement(right, element)) return false;
  return true;
}
