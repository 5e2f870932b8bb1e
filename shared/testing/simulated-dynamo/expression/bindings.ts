/** The placeholders of a request: each used one must be defined, and each defined one must be used. */
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { emptyMap } from '../attribute-value.ts';
import type { StoredMap } from '../attribute-value.ts';
import { validationFault } from '../fault.ts';
import { copyIn } from '../item-copy.ts';
import type { Bindings, Parsed } from './syntax.ts';

export interface Placeholders {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  readonly ExpressionAttributeValues?: DynamoItem | undefined;
}

const LONGEST_PLACEHOLDER = 255;
const LONGEST_NAME_BYTES = 65_535;

/**
 * Binds the placeholders of a request to all its expressions, and checks the expressions' own rules with them.
 * @throws DynamoFault
 */
export function bind(request: Placeholders, expressions: readonly (Parsed<unknown> | undefined)[]): Bindings {
  const used = expressions.filter((expression) => expression !== undefined);
  const names = namesOf(request.ExpressionAttributeNames, used);
  const values = valuesOf(request.ExpressionAttributeValues, used);
  const bindings = { names, values };
  for (const expression of used) for (const rule of expression.rules) rule(bindings);
  return bindings;
}

const NO_NAMES: Readonly<Record<string, string>> = {};

function namesOf(
  given: Readonly<Record<string, string>> | undefined,
  expressions: readonly Parsed<unknown>[],
): Readonly<Record<string, string>> {
  if (given !== undefined) {
    requireSomeUse('ExpressionAttributeNames', given, expressions);
    for (const placeholder in given) {
      requireName(placeholder, given[placeholder] ?? '');
      if (!isUsed(expressions, 'names', placeholder)) {
        throw unusedPlaceholder('ExpressionAttributeNames', placeholder);
      }
    }
  }
  for (const { names } of expressions) {
    for (const placeholder of names) {
      if (given?.[placeholder] !== undefined) continue;
      throw validationFault(
        `An expression attribute name used in the document path is not defined; attribute name: ${placeholder}`,
      );
    }
  }
  return given ?? NO_NAMES;
}

function valuesOf(given: DynamoItem | undefined, expressions: readonly Parsed<unknown>[]): StoredMap {
  const copies = emptyMap();
  if (given !== undefined) {
    requireSomeUse('ExpressionAttributeValues', given, expressions);
    for (const placeholder in given) {
      // The document client leaves undefined values out, so they are not given.
      if (given[placeholder] === undefined) continue;
      requirePlaceholder('ExpressionAttributeValues', placeholder, ':');
      if (!isUsed(expressions, 'values', placeholder)) {
        throw unusedPlaceholder('ExpressionAttributeValues', placeholder);
      }
      copies[placeholder] = copyIn(given[placeholder]);
    }
  }
  for (const { values } of expressions) {
    for (const placeholder of values) {
      if (copies[placeholder] !== undefined) continue;
      throw validationFault(
        `An expression attribute value used in expression is not defined; attribute value: ${placeholder}`,
      );
    }
  }
  return copies;
}

function requireSomeUse(parameter: string, given: object, expressions: readonly Parsed<unknown>[]): void {
  if (expressions.length === 0) throw validationFault(`${parameter} can only be specified when using expressions`);
  for (const _ in given) return;
  throw validationFault(`${parameter} must not be empty`);
}

/** A loop, because it runs for every placeholder of every request. */
function isUsed(expressions: readonly Parsed<unknown>[], kind: 'names' | 'values', placeholder: string): boolean {
  for (const expression of expressions) if (expression[kind].has(placeholder)) return true;
  return false;
}

function unusedPlaceholder(parameter: string, placeholder: string): Error {
  return validationFault(`Value provided in ${parameter} unused in expressions: keys: {${placeholder}}`);
}

function requireName(placeholder: string, name: string): void {
  requirePlaceholder('ExpressionAttributeNames', placeholder, '#');
  if (name !== '' && name.length <= LONGEST_NAME_BYTES) return;
  const message = name === '' ? 'Empty attribute name' : 'Attribute name is too large, must be less than 65536 bytes';
  throw validationFault(`ExpressionAttributeNames contains invalid value: ${message} for key ${placeholder}`);
}

function requirePlaceholder(parameter: string, placeholder: string, mark: '#' | ':'): void {
  if (known.has(placeholder) && placeholder.startsWith(mark)) return;
  if (!placeholder.startsWith(mark) || !/^.\w+$/.test(placeholder)) {
    throw validationFault(`${parameter} contains invalid key: Syntax error; key: "${placeholder}"`);
  }
  if (placeholder.length > LONGEST_PLACEHOLDER) {
    throw validationFault(
      `${parameter} contains invalid key: The expression attribute map contains a key that is too long; ` +
        `size of key: ${placeholder.length}`,
    );
  }
  if (known.size < MOST_KNOWN) known.add(placeholder);
}

/** Cache of well-formed placeholders, because programs reuse a few. */
const known = new Set<string>();
const MOST_KNOWN = 10_000;
