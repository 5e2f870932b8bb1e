/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** How many lists and objects may stand in each other. `JSON.parse` reads more than `JSON.stringify` has a stack for. */
export const JSON_DEPTH_LIMIT = 1_000;

/** Whether a parsed value is nested more deeply than may be stored. */
export function isTooDeep(json: unknown): boolean {
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
  let level = [json].filter(isObject);
  for (let depth = 0; depth < JSON_DEPTH_LIMIT && level.length > 0; depth++)
    level = level.flatMap((value): unknown[] => Object.values(value)).filter(isObject);
  return level.length > 0;
}

/**
 * Reports that a text is not JSON, and the position. The engine's own message would repeat some of the text, which may be a secret.
 * @param cause the error of `JSON.parse`
 */
export function notJson(cause: unknown): string {
  const [, position] = / in JSON at position (\d+)/.exec(cause instanceof Error ? cause.message : '') ?? [];
  return position === undefined ? 'not JSON' : `not JSON at position ${position}`;
}

/** Parses JSON from outside the process. @throws SyntaxError @throws RangeError for a number that JavaScript would change */
export function parseUnchanged(text: string): unknown {
  return JSON.parse(text, unchanged);
}

function unchanged(this: unknown, _name: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined) return value;
  if (!Number.isFinite(value)) throw new RangeError('a number in it is too large');
  if (digitsOf(source) !== digitsOf(String(value)))
    throw new RangeError(`a number in it has more digits than JavaScript keeps: it would become ${value}; pass a text`);
  return value;
}

/** The digits of a number without sign, point, exponent, and zeros at both ends. */
function digitsOf(number: string): string {
  const [mantissa = ''] = number.toLowerCase().split('e');
  const digits = mantissa.replace(/[-+.]/g, '').replace(/^0+/, '');
  let end = digits.length;
  // Not by a pattern: /0+$/ takes time by the square of the zeros in the middle.
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}
