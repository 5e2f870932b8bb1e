/** What requests are put together from: keys, items, and parameters. */
import fc from 'fast-check';
import type { Fragment, Rendered } from './expressions.ts';
import { condition, render } from './expressions.ts';
import type { ProgramTable } from './tables.ts';
import { PROGRAM_TABLES } from './tables.ts';
import { anyValue, attributes, filler } from './values.ts';

/** Some parameters of a request. */
export type Part = Readonly<Record<string, unknown>>;
type Key = Readonly<Record<string, unknown>>;

/** Expressions share one map of names and one of values. */
export function expressionParts(expressions: Readonly<Record<string, Fragment | undefined>>): Part {
  const rendered = Object.entries(expressions)
    .filter((entry): entry is [string, Fragment] => entry[1] !== undefined)
    .map(([parameter, fragment], at): [string, Rendered] => [parameter, render(fragment, 'abc'[at] ?? 'd')]);
  const names = Object.assign({}, ...rendered.map(([, { names }]) => names)) as Record<string, string>;
  const values = Object.assign({}, ...rendered.map(([, { values }]) => values)) as Record<string, unknown>;
  return {
    ...Object.fromEntries(rendered.map(([parameter, { text }]) => [parameter, text])),
    ...(Object.keys(names).length > 0 && { ExpressionAttributeNames: names }),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
}

export const guard = fc.option(condition, { nil: undefined, freq: 2 });
export const onFailure = fc.constantFrom<Part>({}, { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
export const reporting = fc.constantFrom<Part>(
  {},
  { ReturnConsumedCapacity: 'TOTAL' },
  { ReturnConsumedCapacity: 'INDEXES' },
);
export const anyTable = fc.constantFrom(...PROGRAM_TABLES, PROGRAM_TABLES[0]!, PROGRAM_TABLES[0]!);

/** One key in thirty is wrong: another type, a part too few, a part too many, empty. */
export function keyIn(table: ProgramTable): fc.Arbitrary<Key> {
  const right = fc.constantFrom(...table.keys);
  const wrong = fc.oneof(
    fc.tuple(right, anyValue).map(([key, other]) => ({ ...key, pk: other })),
    right.map((key) => ({ ...key, extra: 1 })),
    fc.constant({ pk: 'p' }),
    fc.constant({}),
    fc.constantFrom(2048, 2049, 1024, 1025).map((length) => ({ pk: 'k'.repeat(length), sk: 's'.repeat(length / 2) })),
  );
  return fc.oneof({ arbitrary: right, weight: 29 }, { arbitrary: wrong, weight: 1 });
}

/** Duplicates are refused, so there are few. */
export function keysIn(table: ProgramTable): fc.Arbitrary<readonly Key[]> {
  const distinct = fc.subarray([...table.keys], { minLength: 1, maxLength: Math.min(4, table.keys.length) });
  return fc.oneof(
    { arbitrary: distinct, weight: 9 },
    { arbitrary: fc.array(keyIn(table), { minLength: 1, maxLength: 4 }), weight: 1 },
  );
}

export function itemIn(table: ProgramTable): fc.Arbitrary<Part> {
  const usual = fc.tuple(keyIn(table), attributes).map(([key, others]) => ({ ...others, ...key }));
  const sized = fc.tuple(usual, filler).map(([item, fill]) => fill(item));
  return fc.oneof({ arbitrary: usual, weight: 9 }, { arbitrary: sized, weight: 1 });
}
