/** Describes any value for a message: with Node's own inspector, or the same output for common values. */
import { hostModule } from './host.ts';

const inspect = hostModule('node:util')?.inspect;

/** Describes one level, on one line. @throws any error of a hostile value */
export function inspected(value: unknown): string {
  return inspect === undefined ? inspectedOfOurOwn(value) : inspect(value, { depth: 1, breakLength: Infinity });
}

/** For hosts without `util`. Exported so that a test can compare it with Node's. */
export function inspectedOfOurOwn(value: unknown, depth = 1): string {
  switch (typeof value) {
    case 'string':
      return `'${value.replaceAll("'", "\\'")}'`;
    case 'bigint':
      return `${value}n`;
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'function':
      return value.name === '' ? '[Function (anonymous)]' : `[Function: ${value.name}]`;
    case 'object':
      return value === null ? 'null' : ofObject(value, depth);
    default:
      return String(value);
  }
}

function ofObject(value: object, depth: number): string {
  if (value instanceof Error) return value.stack ?? String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  const prototype = Object.getPrototypeOf(value) as { readonly constructor?: { readonly name?: string } } | null;
  const name = prototype === null ? '[Object: null prototype]' : (prototype.constructor?.name ?? 'Object');
  if (depth < 0) return Array.isArray(value) ? '[Array]' : `[${name}]`;
  if (Array.isArray(value)) return framed('[', list(value, depth), ']');
  if (value instanceof Set) return `Set(${value.size}) ${framed('{', list([...value], depth), '}')}`;
  const members = Object.entries(value).map(
    ([key, member]) => `${nameOf(key)}: ${inspectedOfOurOwn(member, depth - 1)}`,
  );
  return `${name === 'Object' ? '' : `${name} `}${framed('{', members, '}')}`;
}

function list(values: readonly unknown[], depth: number): string[] {
  return values.map((element) => inspectedOfOurOwn(element, depth - 1));
}

function framed(open: string, parts: readonly string[], close: string): string {
  return parts.length === 0 ? `${open}${close}` : `${open} ${parts.join(', ')} ${close}`;
}

function nameOf(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : `'${key}'`;
}
