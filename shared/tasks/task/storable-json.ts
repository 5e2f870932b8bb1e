import { utf8Bytes } from '../../core/runtime/bytes.ts';
import { ConfigurationError, messageOf } from '../../core/errors.ts';
import { ensureRoundTrips } from './json-round-trip.ts';
import type { Json } from './task.ts';

/**
 * Returns the JSON form of a value to store, after checking its size.
 * Sizes are in UTF-8 bytes, because the row's cost and limit count them.
 * @throws ConfigurationError when it has no JSON form, or is too large
 */
export function storableJson(what: string, value: unknown, limitBytes: number): Json {
  ensureRoundTrips(what, value);
  const { text, bytes } = jsonText(what, value);
  if (bytes > limitBytes)
    throw new ConfigurationError(
      `${what} has ${bytes} bytes as JSON: at most ${limitBytes} fit into a task's row; store it elsewhere and pass a reference`,
    );
  return JSON.parse(text) as Json;
}

/** Returns the JSON form of a value as text, and its size in UTF-8. @throws ConfigurationError when it has no JSON form */
export function jsonText(what: string, value: unknown): { readonly text: string; readonly bytes: number } {
  const text = stringify(what, value);
  if (typeof text !== 'string')
    throw new ConfigurationError(`${what} is ${typeof value}, which JSON has no form for: must be null, or a value`);
  return { text, bytes: utf8Bytes(text) };
}

/** In spite of its type, this returns undefined for values without a JSON form. */
function stringify(what: string, value: unknown): unknown {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new ConfigurationError(`${what} cannot be stored as JSON: ${messageOf(cause)}`, { cause });
  }
}
