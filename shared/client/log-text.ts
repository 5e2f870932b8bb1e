/**
 * The fields of a log record as JSON. A logger must not fail the code that logs, and must show what went wrong: `JSON.stringify` alone
 * throws for a bigint or a circular object, and shows an error as `{}`.
 */
import { shown } from '../core/errors.ts';
import { describeThrown } from '../tasks/run/thrown.ts';

/** Characters of a field that has no JSON form. */
const FIELD_LIMIT_CHARACTERS = 1_000;

export function logText(fields: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(fields, readable);
  } catch {
    const short = Object.entries(fields).map(([name, value]) => [name, isObject(value) ? describe(value) : value]);
    return JSON.stringify(Object.fromEntries(short), readable);
  }
}

function readable(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Error ? describeThrown(value) : value;
}

function describe(value: object): unknown {
  return value instanceof Error ? value : shown(value, FIELD_LIMIT_CHARACTERS);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
