/**
 * Rejects inputs, results and progress that do not survive the JSON round trip to their reader, who gets
 * `JSON.parse(JSON.stringify(value))`.
 *
 * It rejects what JSON drops or changes silently: `Map`, `Set`, `Error`, binary data, functions, `NaN`, holes in lists.
 * It accepts undefined properties, which are omitted on both sides of the queue alike, and objects with a `toJSON`
 * (`Date`, `URL`, `Temporal`), whose authors define their JSON form: the schema validates that form.
 */
import { ConfigurationError, messageOf } from '../../core/errors.ts';
import { JSON_DEPTH_LIMIT } from '../../core/json.ts';

type Path = readonly (string | number)[];

/** The first value that would not survive, and its path. */
interface Loss {
  readonly path: Path;
  readonly what: string;
}

/** @throws ConfigurationError naming the value that JSON would drop or change, and its path */
export function ensureRoundTrips(what: string, value: unknown): void {
  const loss = lossIn(what, value);
  if (loss === undefined) return;
  const place = loss.path.length === 0 ? 'it' : loss.path.join('.');
  throw new ConfigurationError(
    `${what} cannot be stored as JSON: ${place} is ${loss.what}, which would not reach its ` +
      'reader; pass texts, numbers, lists and plain objects',
  );
}

/** Input is hostile: getters and `toJSON` may throw. */
function lossIn(what: string, value: unknown): Loss | undefined {
  try {
    return value === undefined ? undefined : lossOf(value, '', new Set());
  } catch (cause) {
    throw new ConfigurationError(`${what} cannot be stored as JSON: ${messageOf(cause)}`, { cause });
  }
}

function lossOf(value: unknown, key: string | number, above: Set<object>): Loss | undefined {
  switch (typeof value) {
    case 'bigint':
    case 'function':
    case 'symbol':
    case 'undefined':
      return at(value === undefined ? 'undefined' : `a ${typeof value}`);
    case 'number':
      return Number.isFinite(value) ? undefined : at(`${value}`);
    case 'object':
      return value === null ? undefined : lossOfObject(value, key, above);
    default:
      return undefined;
  }
}

function lossOfObject(value: object, key: string | number, above: Set<object>): Loss | undefined {
  if (above.has(value)) return at('part of a circle');
  if (above.size >= JSON_DEPTH_LIMIT) throw new RangeError(`it is nested more than ${JSON_DEPTH_LIMIT} deep`);
  const strange = nameOfStranger(value);
  if (strange !== undefined) return at(strange);
  if (wordsItself(value)) {
    if (tagOf(value) === 'Date') return Number.isNaN(Number(value)) ? at('an invalid Date') : undefined;
    const worded = value.toJSON(`${key}`);
    return worded === value ? undefined : lossOf(worded, key, above);
  }
  above.add(value);
  const isList = Array.isArray(value);
  // `Object.keys` of a list would omit its holes.
  const keys = isList ? value.keys() : Object.keys(value);
  let count = 0;
  for (const name of keys) {
    count++;
    const part = (value as Record<string | number, unknown>)[name];
    if (part === undefined && !isList) continue;
    const loss = lossOf(part, name, above);
    if (loss !== undefined) return { ...loss, path: [name, ...loss.path] };
  }
  above.delete(value);
  return isList || count > 0 || isPlain(value) ? undefined : at(`${nameOf(value)} without properties of its own`);
}

function wordsItself(value: object): value is { toJSON(key: string): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/** Returns the class name of an object that JSON turns into an empty object or a list of digits, whatever its content. */
function nameOfStranger(value: object): string | undefined {
  const isStrange = STRANGERS.has(tagOf(value)) || ArrayBuffer.isView(value);
  return isStrange ? nameOf(value) : undefined;
}

const STRANGERS = new Set(['Map', 'Set', 'Error', 'RegExp', 'Promise', 'ArrayBuffer', 'SharedArrayBuffer']);

/** Returns the object's own type tag, in whichever realm it was made. */
function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

function nameOf(value: object): string {
  const { constructor } = value as { readonly constructor?: unknown };
  const name = typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'object';
  return `${/^[AEIO]/i.test(name) ? 'an' : 'a'} ${name}`;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // Objects of another realm, such as `vm`, have a different prototype that ends the chain.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function at(what: string): Loss {
  return { path: [], what };
}
