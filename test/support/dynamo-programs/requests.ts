/** Requests and programs of requests, for every kind of command that the driver knows. */
import fc from 'fast-check';
import { defined } from '../../../shared/core/defined.ts';
import type { DynamoCalls, DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { condition, projection, update } from './expressions.ts';
import { queryParts } from './queries.ts';
import type { Part } from './request-parts.ts';
import { anyTable, expressionParts, guard, itemIn, keyIn, keysIn, onFailure, reporting } from './request-parts.ts';
import { PROGRAM_TABLES } from './tables.ts';

/** One request; a query of an index that has a limit is followed to its last page. */
export interface Step<K extends DynamoKind = DynamoKind> {
  readonly kind: K;
  readonly input: DynamoCalls[K]['input'];
}

export type Program = readonly Step[];

// ─── one action, alone or in a transaction ─────────────────────────────────────────────────────────────────

const putAction = anyTable.chain((table) =>
  fc.tuple(itemIn(table), guard, onFailure).map(([Item, ConditionExpression, failure]) => ({
    TableName: table.definition.name,
    Item,
    ...failure,
    ...expressionParts({ ConditionExpression }),
  })),
);

const updateAction = anyTable.chain((table) =>
  fc.tuple(keyIn(table), update, guard, onFailure).map(([Key, UpdateExpression, ConditionExpression, failure]) => ({
    TableName: table.definition.name,
    Key,
    ...failure,
    ...expressionParts({ UpdateExpression, ConditionExpression }),
  })),
);

const deleteAction = anyTable.chain((table) =>
  fc.tuple(keyIn(table), guard, onFailure).map(([Key, ConditionExpression, failure]) => ({
    TableName: table.definition.name,
    Key,
    ...failure,
    ...expressionParts({ ConditionExpression }),
  })),
);

const checkAction = anyTable.chain((table) =>
  fc.tuple(keyIn(table), condition, onFailure).map(([Key, ConditionExpression, failure]) => ({
    TableName: table.definition.name,
    Key,
    ...failure,
    ...expressionParts({ ConditionExpression }),
  })),
);

// ─── requests ──────────────────────────────────────────────────────────────────────────────────────────────

const oldOrNothing = fc.constantFrom<Part>({}, { ReturnValues: 'ALL_OLD' }, { ReturnValues: 'NONE' });
const anyReturn = fc
  .constantFrom('NONE', 'ALL_OLD', 'ALL_NEW', 'ALL_NEW', 'UPDATED_OLD', 'UPDATED_NEW')
  .map((ReturnValues): Part => ({ ReturnValues }));

function step(kind: DynamoKind, parts: fc.Arbitrary<readonly Part[]>): fc.Arbitrary<Step> {
  return parts.map((all) => ({ kind, input: Object.assign({}, ...all) as Step['input'] }));
}

const token = fc.option(fc.constantFrom('t1', 't2'), { nil: undefined, freq: 3 });

const transaction = fc
  .tuple(
    fc.array(
      fc.oneof(
        putAction.map((Put) => ({ Put })),
        updateAction.map((Update) => ({ Update })),
        deleteAction.map((Delete) => ({ Delete })),
        checkAction.map((ConditionCheck) => ({ ConditionCheck })),
      ),
      { minLength: 1, maxLength: 4, size: 'small' },
    ),
    token,
    reporting,
  )
  .map(([TransactItems, ClientRequestToken, report]): readonly Part[] => [
    { TransactItems },
    defined({ ClientRequestToken }),
    report,
  ]);

const getParts = anyTable.chain((table) =>
  fc
    .tuple(keyIn(table), fc.option(projection, { nil: undefined, freq: 2 }), fc.boolean(), reporting)
    .map(([Key, ProjectionExpression, ConsistentRead, report]): readonly Part[] => [
      { TableName: table.definition.name, Key, ConsistentRead },
      expressionParts({ ProjectionExpression }),
      report,
    ]),
);

const batchGetParts = fc
  .tuple(fc.subarray([...PROGRAM_TABLES], { minLength: 1 }), reporting)
  .chain(([tables, report]) =>
    fc.tuple(...tables.map((table) => keysIn(table))).map((keys): readonly Part[] => [
      {
        RequestItems: Object.fromEntries(
          tables.map((table, at) => [table.definition.name, { Keys: keys[at], ConsistentRead: at === 0 }]),
        ),
      },
      report,
    ]),
  );

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: step('put', fc.tuple(putAction, oldOrNothing, reporting)), weight: 6 },
  { arbitrary: step('update', fc.tuple(updateAction, anyReturn, reporting)), weight: 8 },
  { arbitrary: step('delete', fc.tuple(deleteAction, oldOrNothing, reporting)), weight: 2 },
  { arbitrary: step('transactWrite', transaction), weight: 4 },
  { arbitrary: step('get', getParts), weight: 2 },
  { arbitrary: step('batchGet', batchGetParts), weight: 1 },
  { arbitrary: step('query', queryParts), weight: 4 },
);

export const anyProgram: fc.Arbitrary<Program> = fc.array(anyStep, { minLength: 1, maxLength: 60, size: 'max' });
