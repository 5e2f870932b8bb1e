/**
 * One write, understood but not yet done: the same for a single request and for an action of a transaction.
 *
 * 1. `plan…` checks everything that it can without reading an item.
 * 2. `decide` reads the item, evaluates the guard, and computes the new item.
 * 3. `Table.write` does it.
 */
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { itemSizeBytes } from '../../dynamo/engine/capacity.ts';
import type { StoredItem } from './attribute-value.ts';
import { bind } from './expression/bindings.ts';
import type { Placeholders } from './expression/bindings.ts';
import { holds } from './expression/condition.ts';
import { parsed } from './expression/parsed-expressions.ts';
import { nameOf } from './expression/path.ts';
import type { Bindings, Condition, Parsed, UpdateAction } from './expression/syntax.ts';
import { updated } from './expression/update.ts';
import { conditionFault, missingFault, validationFault } from './fault.ts';
import { copyItemIn, copyItemOut, DEEPEST_NESTING, nestingOf } from './item-copy.ts';
import {
  indexKeyProblem,
  keyOf,
  keyProblem,
  requireFilledIndexKeys,
  requireItemKey,
  requireScalarKeys,
  scalarKeyProblem,
} from './keys.ts';
import type { Row } from './keyed-rows.ts';
import { oneOf } from './request.ts';
import type { Table } from './table.ts';
import { keyPart } from './table.ts';

const ITEM_LIMIT_BYTES = 400 * 1024;

export interface PlannedWrite {
  readonly table: Table;
  readonly key: StoredItem;
  /** Why the table cannot take the key or the item, whatever it holds. */
  readonly problem: string | undefined;
  readonly guard: { readonly condition: Condition; readonly bindings: Bindings } | undefined;
  readonly asksForOldItem: boolean;
  /** Bytes that the request carries, an item, or a key and values: only transactions ask. */
  readonly payloadBytes: () => number;
  /** The changes of an update, for callers that ask for the changed attributes. */
  readonly changes: { readonly actions: readonly UpdateAction[]; readonly bindings: Bindings } | undefined;
  /**
   * Returns the new row; undefined if the item is deleted or not created.
   * @throws DynamoFault if the new row is invalid
   */
  readonly effect: (before: Row | undefined) => Row | undefined;
}

/** Parameters that requests and the actions of transactions share. */
interface WriteRequest extends Placeholders {
  readonly ConditionExpression?: string | undefined;
  readonly ReturnValuesOnConditionCheckFailure?: string | undefined;
}

export function planPut(
  table: Table,
  request: WriteRequest & { readonly Item?: DynamoItem | undefined },
): PlannedWrite {
  const guarded = guardOf(table, request);
  if (request.Item === undefined) throw missingFault('item');
  const item = copyItemIn(request.Item);
  requireItemKey(table.definition, item);
  requireFilledIndexKeys(table.definition, item);
  const row = { item, bytes: itemSizeBytes(item) };
  if (row.bytes > ITEM_LIMIT_BYTES) throw validationFault('Item size has exceeded the maximum allowed size');
  if (deepestAttribute(item) > DEEPEST_NESTING) throw validationFault(TOO_DEEP);
  return {
    ...guarded,
    table,
    key: item,
    problem: keyProblem(table.definition, item) ?? indexKeyProblem(table.definition, item),
    payloadBytes: () => row.bytes,
    changes: undefined,
    effect: () => row,
  };
}

export function planUpdate(
  table: Table,
  request: WriteRequest & { readonly Key?: DynamoItem | undefined; readonly UpdateExpression?: string | undefined },
): PlannedWrite {
  const expression = parsed.update(request.UpdateExpression);
  const condition = parsed.condition(request.ConditionExpression);
  const bindings = bind(request, [expression, condition]);
  const actions = expression?.root ?? [];
  requireScalarKeys(table.definition, [condition], bindings);
  const key = keyOf(table.definition, request.Key);
  return {
    table,
    key,
    problem: keyProblem(table.definition, key),
    guard: condition === undefined ? undefined : { condition: condition.root, bindings },
    asksForOldItem: asksForOldItem(request),
    payloadBytes: () => itemSizeBytes(key) + itemSizeBytes(bindings.values),
    changes: { actions, bindings },
    effect: (before) => {
      // Found as late as this: a false guard comes first.
      const problem = targetProblem(table, expression, bindings);
      if (problem !== undefined) throw validationFault(problem);
      return updatedRow(table, before, key, actions, bindings);
    },
  };
}

export function planDelete(
  table: Table,
  request: WriteRequest & { readonly Key?: DynamoItem | undefined },
): PlannedWrite {
  return { ...planOnKey(table, request), effect: () => undefined };
}

export function planCheck(
  table: Table,
  request: WriteRequest & { readonly Key?: DynamoItem | undefined },
): PlannedWrite {
  if (request.ConditionExpression === undefined) throw missingFault('conditionExpression');
  return { ...planOnKey(table, request), effect: (before) => before };
}

export interface Decision {
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

/** @throws DynamoFault if the guard is false, or the effect impossible */
export function decide(plan: PlannedWrite): Decision {
  const before = plan.table.find(plan.key);
  const { guard } = plan;
  if (guard !== undefined && !holds(guard.condition, before?.item, guard.bindings)) {
    throw conditionFault(plan.asksForOldItem && before !== undefined ? copyItemOut(before.item) : undefined);
  }
  return { before, after: plan.effect(before) };
}

const TOO_DEEP = 'Nesting Levels have exceeded supported limits';

function planOnKey(
  table: Table,
  request: WriteRequest & { readonly Key?: DynamoItem | undefined },
): Omit<PlannedWrite, 'effect'> {
  const guarded = guardOf(table, request);
  const key = keyOf(table.definition, request.Key);
  return {
    ...guarded,
    table,
    key,
    problem: keyProblem(table.definition, key),
    payloadBytes: () => itemSizeBytes(key),
    changes: undefined,
  };
}

function guardOf(table: Table, request: WriteRequest): Pick<PlannedWrite, 'guard' | 'asksForOldItem'> {
  const condition = parsed.condition(request.ConditionExpression);
  const bindings = bind(request, [condition]);
  requireScalarKeys(table.definition, [condition], bindings);
  return {
    guard: condition === undefined ? undefined : { condition: condition.root, bindings },
    asksForOldItem: asksForOldItem(request),
  };
}

function asksForOldItem(request: WriteRequest): boolean {
  const parameter = 'returnValuesOnConditionCheckFailure';
  return oneOf(parameter, request.ReturnValuesOnConditionCheckFailure, ['ALL_OLD', 'NONE']) === 'ALL_OLD';
}

/** Keys are fixed for life, and keys of indexes have no insides. */
function targetProblem(
  table: Table,
  expression: Parsed<readonly UpdateAction[]> | undefined,
  bindings: Bindings,
): string | undefined {
  if (expression === undefined) return undefined;
  for (const { path } of expression.root) {
    const name = nameOf(path.steps[0], bindings.names);
    if (!table.shape.keys.includes(name)) continue;
    return `One or more parameter values were invalid: Cannot update attribute ${name}. This attribute is part of the key`;
  }
  return scalarKeyProblem(table.definition, expression, bindings);
}

function updatedRow(
  table: Table,
  before: Row | undefined,
  key: StoredItem,
  actions: readonly UpdateAction[],
  bindings: Bindings,
): Row | undefined {
  const item = updated(before?.item, keyPart(key, table.definition), actions, bindings);
  if (item === undefined) return undefined;
  const bytes = itemSizeBytes(item);
  if (bytes > ITEM_LIMIT_BYTES) {
    throw validationFault('Item size to update has exceeded the maximum allowed size');
  }
  if (deepestAttribute(item) > DEEPEST_NESTING) throw validationFault(TOO_DEEP);
  requireFilledIndexKeys(table.definition, item);
  const problem = indexKeyProblem(table.definition, item);
  if (problem !== undefined) throw validationFault(problem);
  return { item, bytes };
}

function deepestAttribute(item: StoredItem): number {
  let deepest = 0;
  for (const name in item) deepest = Math.max(deepest, nestingOf(item[name] ?? null));
  return deepest;
}
