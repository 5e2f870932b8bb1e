/**
 * Checks keys.
 *
 * Faults and problems differ in when they are found. A fault ends any request at once.
 * A problem ends a single write in the same way; in a transaction it cancels, and is the action's reason.
 */
import { valueSizeBytes } from '../../dynamo/engine/capacity.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import type { StoredItem, StoredValue } from './attribute-value.ts';
import { typeOf } from './attribute-value.ts';
import { nameOf } from './expression/path.ts';
import type { Bindings, Parsed } from './expression/syntax.ts';
import { validationFault } from './fault.ts';
import { copyItemIn } from './item-copy.ts';
import type { IndexDefinition, KeyAttribute, KeySchema, TableDefinition } from './table-definition.ts';
import { keyNames } from './table-definition.ts';

/** UTF-8 bytes, for tables and indexes alike. */
const PARTITION_KEY_LIMIT_BYTES = 2048;
const SORT_KEY_LIMIT_BYTES = 1024;

const MISMATCH = 'The provided key element does not match the schema';

/** A key that a request names an item by: exactly the key attributes. */
export function keyOf(table: TableDefinition, given: DynamoItem | undefined): StoredItem {
  if (given === undefined)
    throw validationFault("Value null at 'key' failed to satisfy constraint: Member must not be null");
  const key = copyItemIn(given);
  const names = keyNames(table);
  if (Object.keys(key).length !== names.length || names.some((name) => key[name] === undefined)) {
    throw validationFault(MISMATCH);
  }
  requireFilledKey(table, key);
  return key;
}

/** @throws DynamoFault if the key of a whole item is incomplete or empty */
export function requireItemKey(table: TableDefinition, item: StoredItem): void {
  for (const name of keyNames(table)) {
    if (item[name] !== undefined) continue;
    throw validationFault(`One or more parameter values were invalid: Missing the key ${name} in the item`);
  }
  requireFilledKey(table, item);
}

/** Why the key attributes cannot be a key: nothing if they can. */
export function keyProblem(schema: KeySchema, item: StoredItem): string | undefined {
  for (const key of keyAttributes(schema)) {
    const value = item[key.name] as StoredValue;
    if (typeOf(value) !== key.type) {
      return (
        'One or more parameter values were invalid: ' +
        `Type mismatch for key ${key.name} expected: ${key.type} actual: ${typeOf(value)}`
      );
    }
    if (isTooLong(schema, key, value)) {
      return key === schema.partition
        ? 'One or more parameter values were invalid: Size of hashkey has exceeded the ' +
            `maximum size limit of${PARTITION_KEY_LIMIT_BYTES} bytes`
        : 'One or more parameter values were invalid: Aggregated size of all range keys has ' +
            `exceeded the size limit of ${SORT_KEY_LIMIT_BYTES} bytes`;
    }
  }
  return undefined;
}

/** @throws DynamoFault if the item has an empty key for an index */
export function requireFilledIndexKeys(table: TableDefinition, item: StoredItem): void {
  for (const index of table.indexes ?? []) {
    const empty = keyAttributes(index).find((key) => isEmptyKey(key, item));
    if (empty === undefined) continue;
    throw validationFault(
      'One or more parameter values are not valid. A value specified for a secondary index key is not supported. ' +
        'The AttributeValue for a key attribute cannot contain an empty string value. ' +
        `IndexName: ${index.name}, IndexKey: ${empty.name}`,
    );
  }
}

/** Why an index cannot take the item: an attribute that is a key of it must be one or be absent. */
export function indexKeyProblem(table: TableDefinition, item: StoredItem): string | undefined {
  for (const index of table.indexes ?? []) {
    for (const key of keyAttributes(index)) {
      const value = item[key.name];
      const problem = value === undefined ? undefined : indexAttributeProblem(index, key, value);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

/** @throws DynamoFault for a path that leads into a key: keys are scalars */
export function requireScalarKeys(
  table: TableDefinition,
  expressions: readonly (Parsed<unknown> | undefined)[],
  bindings: Bindings,
): void {
  for (const expression of expressions) {
    const problem = expression === undefined ? undefined : scalarKeyProblem(table, expression, bindings);
    if (problem !== undefined) throw validationFault(problem);
  }
}

/** The same check at a later stage, for targets of updates. */
export function scalarKeyProblem(
  table: TableDefinition,
  expression: Parsed<unknown>,
  { names }: Bindings,
): string | undefined {
  for (const path of expression.nestedPaths) {
    const name = nameOf(path.steps[0], names);
    const role = roleOf(table, name);
    if (role === undefined) continue;
    return (
      "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: " +
      `${role}: ${name}`
    );
  }
  return undefined;
}

function roleOf(table: TableDefinition, name: string): 'Key' | 'IndexKey' | undefined {
  if (keyNames(table).includes(name)) return 'Key';
  return (table.indexes ?? []).some((index) => keyNames(index).includes(name)) ? 'IndexKey' : undefined;
}

function indexAttributeProblem(index: IndexDefinition, key: KeyAttribute, value: StoredValue): string | undefined {
  if (typeOf(value) !== key.type) {
    return (
      `One or more parameter values were invalid: Type mismatch for Index Key ${key.name} ` +
      `Expected: ${key.type} Actual: ${typeOf(value)} IndexName: ${index.name}`
    );
  }
  return isTooLong(index, key, value)
    ? `One or more parameter values were invalid: Size of the key ${key.name} has exceeded its limit. IndexName: ${index.name}`
    : undefined;
}

function requireFilledKey(schema: KeySchema, item: StoredItem): void {
  const empty = keyAttributes(schema).find((key) => isEmptyKey(key, item));
  if (empty === undefined) return;
  throw validationFault(
    'One or more parameter values are not valid. ' +
      `The AttributeValue for a key attribute cannot contain an empty string value. Key: ${empty.name}`,
  );
}

function keyAttributes(schema: KeySchema): readonly KeyAttribute[] {
  return schema.sort === undefined ? [schema.partition] : [schema.partition, schema.sort];
}

/** A value of another type is a different problem, empty or not. */
function isEmptyKey({ name, type }: KeyAttribute, item: StoredItem): boolean {
  const value = item[name];
  const isEmpty = value === '' || (value instanceof Uint8Array && value.length === 0);
  return isEmpty && typeOf(value) === type;
}

function isTooLong(schema: KeySchema, key: KeyAttribute, value: StoredValue): boolean {
  const limit = key === schema.partition ? PARTITION_KEY_LIMIT_BYTES : SORT_KEY_LIMIT_BYTES;
  return valueSizeBytes(value) > limit;
}
