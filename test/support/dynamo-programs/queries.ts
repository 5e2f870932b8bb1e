/** Queries for programs: mostly sound ones, in both directions, page by page and whole. */
import fc from 'fast-check';
import { defined } from '../../../shared/core/defined.ts';
import type {
  IndexDefinition,
  KeyAttribute,
  KeySchema,
} from '../../../shared/testing/simulated-dynamo/table-definition.ts';
import type { Fragment } from './expressions.ts';
import { condition, projection } from './expressions.ts';
import type { Part } from './request-parts.ts';
import { expressionParts } from './request-parts.ts';
import type { ProgramTable } from './tables.ts';
import { PROGRAM_TABLES } from './tables.ts';
import { anyValue } from './values.ts';

interface Source {
  readonly table: ProgramTable;
  readonly index: IndexDefinition | undefined;
}

const SOURCES: readonly Source[] = PROGRAM_TABLES.flatMap((table) => [
  { table, index: undefined },
  ...(table.definition.indexes ?? []).map((index) => ({ table, index })),
]);

function keyValue({ table }: Source, { name, type }: KeyAttribute): fc.Arbitrary<unknown> {
  const known = table.keys.map((key) => key[name]).filter((value) => value !== undefined);
  const right =
    known.length > 0 ? fc.constantFrom(...known) : type === 'N' ? fc.nat({ max: 2 }) : fc.constantFrom('g', 'h');
  return fc.oneof({ arbitrary: right, weight: 29 }, { arbitrary: anyValue, weight: 1 });
}

function keyCondition(source: Source): fc.Arbitrary<Fragment> {
  const schema: KeySchema = source.index ?? source.table.definition;
  const partition = keyValue(source, schema.partition).map(
    (value): Fragment =>
      (use) =>
        `${use.name(schema.partition.name)} = ${use.value(value)}`,
  );
  if (schema.sort === undefined) return partition;
  const sort = schema.sort;
  const range = fc
    .tuple(
      fc.constantFrom('=', '<', '<=', '>', '>=', 'BETWEEN', 'begins_with'),
      keyValue(source, sort),
      keyValue(source, sort),
    )
    .map(([operator, low, high]): Fragment => (use) => {
      const name = use.name(sort.name);
      if (operator === 'BETWEEN') return `${name} BETWEEN ${use.value(low)} AND ${use.value(high)}`;
      return operator === 'begins_with'
        ? `begins_with(${name}, ${use.value(low)})`
        : `${name} ${operator} ${use.value(low)}`;
    });
  const both = fc.tuple(partition, range).map(
    ([first, second]): Fragment =>
      (use) =>
        `${first(use)} AND ${second(use)}`,
  );
  return fc.oneof(partition, both);
}

/** The projection of a query's results, and their consistency. */
interface View {
  readonly projection: Fragment | undefined;
  readonly others: Part;
}

const anyView: fc.Arbitrary<View> = fc.record({
  projection: fc.option(projection, { nil: undefined }),
  others: fc.constantFrom<Part>({ Select: 'COUNT' }, { ConsistentRead: true }, { Select: 'ALL_ATTRIBUTES' }),
});

/** A view that fits the source. */
function fittingView({ index }: Source): fc.Arbitrary<View> {
  const others = index === undefined ? [{}, { ConsistentRead: true }] : [{}];
  const all = index === undefined || index.projection === 'ALL' ? [{ Select: 'ALL_ATTRIBUTES' }] : [];
  return fc.oneof(
    fc.record({
      projection: fc.constant(undefined),
      others: fc.constantFrom<Part>(...others, ...all, { Select: 'COUNT' }),
    }),
    fc.record({ projection, others: fc.constantFrom<Part>(...others) }),
  );
}

/** Queries of every table and index. */
export const queryParts: fc.Arbitrary<readonly Part[]> = fc.constantFrom(...SOURCES).chain((source) =>
  fc
    .record({
      KeyConditionExpression: keyCondition(source),
      FilterExpression: fc.option(condition, { nil: undefined, freq: 2 }),
      view: fc.oneof({ arbitrary: fittingView(source), weight: 19 }, { arbitrary: anyView, weight: 1 }),
      limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      forward: fc.boolean(),
      start: fc.option(fc.constantFrom(...source.table.keys), { nil: undefined, freq: 6 }),
    })
    .map(({ KeyConditionExpression, FilterExpression, view, limit, forward, start }): readonly Part[] => [
      { TableName: source.table.definition.name, ScanIndexForward: forward, ...view.others },
      defined({ IndexName: source.index?.name }),
      limit === undefined ? { ReturnConsumedCapacity: 'INDEXES' } : { Limit: limit },
      start === undefined || source.index !== undefined ? {} : { ExclusiveStartKey: start },
      expressionParts({ KeyConditionExpression, FilterExpression, ProjectionExpression: view.projection }),
    ]),
);
