/**
 * Where engines answer otherwise than the simulated store, and may.
 *
 * Each entry says which side is right and why it is believed; where the service itself was measured, by whom.
 * An entry explains as little as it can: whatever it does not recognise fails the comparison.
 * The list may shrink with new versions of the engines; it grows only with a citation.
 *
 * Sources:
 * - Alternator: ScyllaDB's compatibility tests, which its authors run against the service (test/alternator/*.py)
 * - Dynoxide's changelog: figures that its author captured from the service in eu-west-2 in 2026
 * - API: Amazon DynamoDB API Reference; Guide: Amazon DynamoDB Developer Guide
 */
import { WRITE_UNIT_BYTES, itemSizeBytes } from '../../../shared/dynamo/engine/capacity.ts';
import type { CancellationReason, DynamoCalls, DynamoItem, DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import type { Outcome } from './outcome.ts';
import type { AnswerPart } from './outcome.ts';
import { comparable, without } from './outcome.ts';
import type { Step } from './requests.ts';
import { writesOf } from './writes.ts';

/** No entry may name `memory`, which is the simulated store itself, behind HTTP. */
export type EngineName = 'dynamodb-local' | 'embedded' | 'memory';

export interface AllowedDivergence {
  readonly id: string;
  readonly engines: readonly EngineName[];
  readonly right: 'simulated' | 'unknown';
  readonly because: string;
  readonly explains: (difference: Difference) => boolean;
}

interface Difference {
  readonly engine: EngineName;
  readonly step: Step;
  readonly simulated: Outcome;
  readonly actual: Outcome;
  /** Engines that answered exactly as the simulated store did. */
  readonly agreeing: ReadonlySet<EngineName>;
}

export const ALLOWED_DIVERGENCES: readonly AllowedDivergence[] = [
  {
    id: 'removing from nothing creates an item',
    engines: ['dynamodb-local', 'embedded'],
    right: 'simulated',
    because:
      'Alternator test_item.py, test_update_item_non_existent, and test_update_expression.py, ' +
      'test_nested_attribute_remove_from_missing_item: an update that only removes, from an item that does not exist, ' +
      'succeeds and creates nothing',
    explains: ({ step, simulated, actual }) =>
      simulated.kind === 'reply'
        ? removals(step).some((at) => simulated.rows[at] === undefined)
        : removals(step).length > 0 && /document path .* is invalid for update/.test(messageOf(actual)),
  },
  {
    id: 'UPDATED_OLD and UPDATED_NEW of nested paths',
    engines: ['dynamodb-local', 'embedded'],
    right: 'simulated',
    because:
      'Alternator test_returnvalues.py, test_update_item_returnvalues_nested: only the nested attributes, ' +
      'list elements closed up; DynamoDB Local returns whole attributes, the embedded engine keeps list positions',
    explains: (difference) =>
      returnsUpdated(difference.step) &&
      /[.[]/.test(parameter(difference.step, 'UpdateExpression')) &&
      agreeWithout(difference, 'Attributes'),
  },
  {
    id: 'consumed capacity',
    engines: ['dynamodb-local', 'embedded'],
    right: 'simulated',
    because:
      'Guide, read-write-operations (reading what is not there costs as much as the smallest item, projections do not ' +
      'reduce the cost) and Dynoxide changelog (a transaction doubles table units only); DynamoDB Local doubles index ' +
      'units, counts misses as nothing, charges sparse indexes for items that are not in them, and reports deletes ' +
      'unasked; the embedded engine charges gets by their projection, and rounds 1.7e12 down to two bytes, so that it ' +
      'confirms nothing of an item that is just above the border of a unit',
    explains: (difference) => {
      // Another engine confirms the figure, or the request is one of those that DynamoDB Local always miscounts.
      const { step, agreeing, engine, simulated } = difference;
      const isMiscounted = step.kind === 'transactWrite' || (engine === 'dynamodb-local' && MISCOUNTED.has(step.kind));
      const isUnconfirmed = agreeing.size === 0 && !isMiscounted && !isJustAboveUnit(simulated);
      return !isUnconfirmed && agreeWithout(difference, 'ConsumedCapacity');
    },
  },
  {
    id: 'reasons of an impossible transaction',
    engines: ['dynamodb-local', 'embedded'],
    right: 'simulated',
    because:
      'Alternator test_transact.py, test_transact_write_cancellation_reasons_validationerror: an action whose key or ' +
      'item is impossible is the only one named, for no condition has been looked at; DynamoDB Local also names ' +
      'a lone reason without regard to its place, against API TransactWriteItems (one reason for each action, in order)',
    explains: ({ step, simulated, actual }) => {
      const [ours, theirs] = [reasonsOf(simulated), reasonsOf(actual)];
      const impossible = ours.filter(({ code }) => code !== 'None');
      const isOutOfPlace = theirs.length === 1 && writesOf(step).length > 1 && theirs[0]?.code === 'ValidationError';
      const isNamed = ours.every(({ code }, at) => code === 'None' || theirs[at]?.code === code);
      return isOutOfPlace || (impossible.length === 1 && impossible[0]?.code === 'ValidationError' && isNamed);
    },
  },
  {
    id: 'impossible updates in a transaction',
    engines: ['dynamodb-local'],
    right: 'simulated',
    because:
      'API TransactionCanceledException lists them as ValidationError reasons (missing operands, paths invalid for ' +
      'update, types of index keys …); DynamoDB Local refuses the whole request',
    explains: ({ simulated, actual }) =>
      reasonsOf(simulated).some(({ code }) => code === 'ValidationError') && isRefused(actual),
  },
  {
    id: 'transactions that are wrong in themselves',
    engines: ['dynamodb-local'],
    right: 'simulated',
    because:
      'API TransactWriteItems: no two actions can target the same item; DynamoDB Local looks at conditions first, ' +
      'and in transactions forgets that keys in conditions are scalars; it also looks at the token before the keys, ' +
      'where the order is not specified',
    explains: ({ step, simulated, actual }) => {
      if (step.kind !== 'transactWrite') return false;
      const isWrong = /multiple operations on one item|Key attributes must be scalars/;
      if (isWrong.test(messageOf(simulated)) && !isRefused(actual)) return true;
      return isRefused(simulated) && codeOf(actual) === 'IdempotentParameterMismatchException';
    },
  },
  {
    id: 'pages that end where their range ends',
    engines: ['dynamodb-local', 'embedded'],
    right: 'simulated',
    because:
      'API Query: a page that ends at its limit has a LastEvaluatedKey, and ExclusiveStartKey is exclusive; at the very ' +
      'edge of a range, or of a partition of one item, DynamoDB Local leaves out the former and refuses the latter, ' +
      'and without a sort key the embedded engine ignores the latter',
    explains: (difference) => {
      const { engine, step, simulated, actual } = difference;
      if (step.kind !== 'query' || simulated.kind === 'fault') return false;
      if (agreeWithout(difference, 'LastEvaluatedKey')) return engine === 'dynamodb-local';
      const startsAtEdge = 'ExclusiveStartKey' in step.input && 'ScannedCount' in simulated.output;
      if (!startsAtEdge || simulated.output.ScannedCount !== 0) return false;
      return engine === 'embedded'
        ? parameter(step, 'TableName').endsWith('-single')
        : messageOf(actual).includes('starting key does not match the range');
    },
  },
  {
    id: 'requests that are checked otherwise',
    engines: ['embedded'],
    right: 'simulated',
    because:
      'DynamoDB Local, which shares the expression parser of the service, refuses these as the simulated store does: ' +
      'types of operands, equal operands, keys in filters, paths into keys, parents that a removal needs',
    explains: ({ step, simulated, actual, agreeing }) => {
      const isOneRefused = isRefused(simulated) !== isRefused(actual);
      const isUnchecked = reasonsOf(simulated).some(
        ({ code }, at) => code === 'ValidationError' && reasonsOf(actual)[at]?.code !== code,
      );
      return (isOneRefused && (agreeing.has('dynamodb-local') || step.kind === 'transactWrite')) || isUnchecked;
    },
  },
  {
    id: 'positions in lists',
    engines: ['embedded'],
    right: 'simulated',
    because:
      'Alternator test_update_expression.py, test_nested_attribute_update_array_out_of_bounds and ' +
      'test_update_expression_nested_remove_list_item_original_number: elements set beyond the end are appended, ' +
      'positions are those before the update; the embedded engine fills with nulls and removes one after the other',
    explains: ({ step, agreeing }) =>
      writesOf(step).some(({ expression }) => expression?.includes('[') === true) &&
      // Where DynamoDB Local has a reason of its own to differ, it cannot be the witness.
      (agreeing.has('dynamodb-local') || step.kind === 'transactWrite' || returnsUpdated(step)),
  },
  {
    id: 'the old values of a new item',
    engines: ['embedded'],
    right: 'simulated',
    because: 'Alternator test_returnvalues.py, test_update_item_returnvalues_all_old: there are none, not even the key',
    explains: (difference) =>
      difference.step.kind === 'update' &&
      parameter(difference.step, 'ReturnValues') === 'ALL_OLD' &&
      difference.simulated.kind === 'reply' &&
      !('Attributes' in difference.simulated.output) &&
      agreeWithout(difference, 'Attributes'),
  },
];

/** By which an item is smaller to the embedded engine: one for some of its few numbers. */
const ROUNDED_BYTES = 8;
/** Batches and queries for misses, deletes unasked; needed where no other engine runs. */
const MISCOUNTED: ReadonlySet<DynamoKind> = new Set(['batchGet', 'query', 'delete']);

/** Which actions of a step are updates that only remove. */
function removals(step: Step): number[] {
  return [...writesOf(step).entries()]
    .filter(([, { expression = '' }]) => /REMOVE|DELETE/.test(expression) && !/SET|ADD/.test(expression))
    .map(([at]) => at);
}

function agreeWithout({ step, simulated, actual }: Difference, part: AnswerPart): boolean {
  return comparable(step, without(simulated, part)) === comparable(step, without(actual, part));
}

/** Where the few bytes that engines differ by are a unit: of an item, or of all that a query reads. */
function isJustAboveUnit(outcome: Outcome): boolean {
  const sizes = itemsOf(outcome).map(itemSizeBytes);
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
  const isAbove = (bytes: number, rounded: number): boolean => bytes > 0 && (bytes - 1) % WRITE_UNIT_BYTES < rounded;
  return sizes.some((bytes) => isAbove(bytes, ROUNDED_BYTES)) || isAbove(total, ROUNDED_BYTES * sizes.length);
}

function itemsOf(outcome: Outcome): DynamoItem[] {
  if (outcome.kind === 'fault') return [];
  const {
    Item,
    Items = [],
    Responses = {},
  } = outcome.output as Partial<
    DynamoCalls['get']['output'] & DynamoCalls['query']['output'] & DynamoCalls['batchGet']['output']
  >;
  return [...outcome.rows, Item, ...Items, ...Object.values(Responses).flat()].filter((item) => item !== undefined);
}

function returnsUpdated(step: Step): boolean {
  return parameter(step, 'ReturnValues').startsWith('UPDATED_');
}

function parameter(step: Step, name: string): string {
  const value = (step.input as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : '';
}

function reasonsOf(outcome: Outcome): readonly CancellationReason[] {
  return outcome.kind === 'fault' ? outcome.fault.reasons : [];
}

function messageOf(outcome: Outcome): string {
  return outcome.kind === 'fault' ? outcome.fault.message : '';
}

function codeOf(outcome: Outcome): string {
  return outcome.kind === 'fault' ? outcome.fault.code : '';
}

function isRefused(outcome: Outcome): boolean {
  return codeOf(outcome) === 'ValidationException';
}
