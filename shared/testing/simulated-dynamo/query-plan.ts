/** A query, understood: everything that can be wrong with it is found here. */
import type { DynamoCalls, DynamoItem } from '../../dynamo/engine/driver.ts';
import type { StoredItem, StoredValue } from './attribute-value.ts';
import { picked } from './attribute-value.ts';
import { bind } from './expression/bindings.ts';
import type { SortRange } from './expression/key-condition.ts';
import { selectKeys } from './expression/key-condition.ts';
import { nameOf } from './expression/path.ts';
import { parsed } from './expression/parsed-expressions.ts';
import { rootNames } from './expression/projection.ts';
import type { Bindings, Condition, Operand, Path } from './expression/syntax.ts';
import { constraintFault, validationFault } from './fault.ts';
import { copyItemIn } from './item-copy.ts';
import { keyProblem, requireScalarKeys } from './keys.ts';
import { oneOf, refuseLegacy } from './request.ts';
import type { Index, Table } from './table.ts';
import { keyNames } from './table-definition.ts';

type Input = DynamoCalls['query']['input'];

export interface QueryPlan {
  readonly table: Table;
  readonly index: Index | undefined;
  readonly partition: StoredValue;
  readonly range: SortRange | undefined;
  readonly sortName: string;
  readonly startKey: StoredItem | undefined;
  readonly forward: boolean;
  readonly limit: number | undefined;
  readonly consistent: boolean;
  readonly onlyCount: boolean;
  readonly filter: Condition | undefined;
  readonly projection: readonly Path[] | undefined;
  readonly bindings: Bindings;
  /** Returns the attributes that the table or index projects. */
  readonly visible: (item: StoredItem) => StoredItem;
}

/** @throws DynamoFault */
export function planQuery(table: Table, input: Input): QueryPlan {
  refuseLegacy(input);
  if (input.KeyConditionExpression === undefined) {
    throw validationFault(
      'Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.',
    );
  }
  if (input.Limit !== undefined && input.Limit < 1) {
    throw constraintFault("Value at 'limit'", 'Member must have value greater than or equal to 1');
  }
  const keyCondition = parsed.keyCondition(input.KeyConditionExpression);
  const filter = parsed.filter(input.FilterExpression);
  const projection = parsed.projection(input.ProjectionExpression);
  const bindings = bind(input, [keyCondition, filter, projection]);
  requireScalarKeys(table.definition, [keyCondition, filter, projection], bindings);
  const index = indexOf(table, input);
  const schema = index === undefined ? table.definition : index.definition;
  const select = selectionOf(input, index);
  requireVisible(index, filter?.root, projection?.root, bindings);
  if (filter !== undefined) requireNoKeys(filter.root, keyNames(schema), bindings);
  const { partition, range } = selectKeys(keyCondition.root, schema, bindings);
  return {
    table,
    index,
    partition,
    range,
    sortName: schema.sort?.name ?? '',
    startKey: startKeyOf(table, index, input.ExclusiveStartKey, { partition, range }),
    forward: input.ScanIndexForward !== false,
    limit: input.Limit,
    consistent: input.ConsistentRead === true,
    onlyCount: select === 'COUNT',
    filter: filter?.root,
    projection: projection?.root,
    bindings,
    visible: visibility(index),
  };
}

function indexOf(table: Table, input: Input): Index | undefined {
  if (input.IndexName === undefined) return undefined;
  const index = table.indexes.get(input.IndexName);
  if (index === undefined) throw validationFault(`The table does not have the specified index: ${input.IndexName}`);
  if (input.ConsistentRead === true) {
    throw validationFault('Consistent reads are not supported on global secondary indexes');
  }
  return index;
}

const SELECTIONS = ['ALL_ATTRIBUTES', 'ALL_PROJECTED_ATTRIBUTES', 'SPECIFIC_ATTRIBUTES', 'COUNT'] as const;

function selectionOf(input: Input, index: Index | undefined): (typeof SELECTIONS)[number] | undefined {
  const select = oneOf('select', input.Select, SELECTIONS);
  const hasProjection = input.ProjectionExpression !== undefined;
  if (select === 'SPECIFIC_ATTRIBUTES' && !hasProjection) {
    throw validationFault(
      'Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES',
    );
  }
  if (hasProjection && select !== undefined && select !== 'SPECIFIC_ATTRIBUTES') {
    const wanted = select === 'COUNT' ? 'only the Count' : select;
    throw validationFault(`Cannot specify the ProjectionExpression when choosing to get ${wanted}`);
  }
  if (select === 'ALL_PROJECTED_ATTRIBUTES' && index === undefined) {
    throw validationFault('ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName');
  }
  if (select === 'ALL_ATTRIBUTES' && index !== undefined && index.definition.projection !== 'ALL') {
    throw validationFault(
      'One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for ' +
        `global secondary index ${index.definition.name} because its projection type is not ALL`,
    );
  }
  return select;
}

/** A query cannot request attributes that the index does not project. */
function requireVisible(
  index: Index | undefined,
  filter: Condition | undefined,
  projection: readonly Path[] | undefined,
  bindings: Bindings,
): void {
  const names = index?.projected;
  if (index === undefined || names === undefined) return;
  const hidden = (wanted: readonly string[]): string[] => wanted.filter((name) => !names.has(name));
  const { name } = index.definition;
  const unprojected = hidden(rootNames(projection ?? [], bindings.names));
  if (unprojected.length > 0) {
    throw validationFault(
      'One or more parameter values were invalid: ' +
        `Global secondary index ${name} does not project [${unprojected.join(', ')}]`,
    );
  }
  const unfilterable = hidden(filter === undefined ? [] : attributesOf(filter, bindings));
  if (unfilterable.length > 0) {
    throw validationFault(
      'One or more parameter values were invalid: ' +
        `Secondary index ${name} does not project one or more filter attributes: [${unfilterable.join(', ')}]`,
    );
  }
}

function requireNoKeys(filter: Condition, keys: readonly string[], bindings: Bindings): void {
  const key = attributesOf(filter, bindings).find((name) => keys.includes(name));
  if (key === undefined) return;
  throw validationFault(`Filter Expression can only contain non-primary key attributes: Primary key attribute: ${key}`);
}

function attributesOf(condition: Condition, bindings: Bindings): string[] {
  const inOperands = (operands: readonly Operand[]): string[] =>
    operands.flatMap((operand) => {
      if (operand.kind === 'size') return inOperands([operand.of]);
      return operand.kind === 'path' ? [nameOf(operand.steps[0], bindings.names)] : [];
    });
  switch (condition.kind) {
    case 'and':
    case 'or':
      return [...attributesOf(condition.left, bindings), ...attributesOf(condition.right, bindings)];
    case 'not':
      return attributesOf(condition.condition, bindings);
    case 'compare':
      return inOperands([condition.left, condition.right]);
    case 'between':
      return inOperands([condition.operand, condition.low, condition.high]);
    case 'in':
      return inOperands([condition.operand, ...condition.list]);
    case 'predicate':
      return inOperands(condition.operands);
  }
}

function startKeyOf(
  table: Table,
  index: Index | undefined,
  given: DynamoItem | undefined,
  selection: { readonly partition: StoredValue; readonly range: SortRange | undefined },
): StoredItem | undefined {
  if (given === undefined) return undefined;
  const key = copyItemIn(given);
  const schemas = index === undefined ? [table.definition] : [index.definition, table.definition];
  const names = new Set(schemas.flatMap(keyNames));
  const isComplete = Object.keys(key).length === names.size && [...names].every((name) => key[name] !== undefined);
  if (!isComplete || schemas.some((schema) => keyProblem(schema, key) !== undefined)) {
    throw validationFault('The provided starting key is invalid');
  }
  const rows = index === undefined ? table.rows : index.rows;
  const sortName = schemas[0]?.sort?.name;
  const isInRange =
    selection.range === undefined || sortName === undefined || selection.range.locate(key[sortName] ?? null) === 0;
  if (!rows.isInPartition(key, selection.partition) || !isInRange) {
    throw validationFault('The provided starting key does not match the range key predicate');
  }
  return key;
}

function visibility(index: Index | undefined): (item: StoredItem) => StoredItem {
  const names = index?.projected;
  if (names === undefined) return (item) => item;
  return (item) => picked(item, names);
}
