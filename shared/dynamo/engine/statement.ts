/**
 * A statement: one intent of the protocol as one DynamoDB request.
 *
 * Expressions are complete literals that write every attribute as `#name`: its own name after a `#`.
 * The placeholder map is derived from the text, so no name can be missing, reserved, or taken from a user.
 * The values are chosen by the text as well: a statement gives what its expressions may name, and what they do not name is not sent.
 * A test checks all expressions against the schema's attributes (`test/unit/dynamo/attributes.test.ts`).
 */
import { assert } from '../../core/errors.ts';
import type { Stamp } from '../../core/lease/write.ts';
import type { DynamoCalls, DynamoKind } from './driver.ts';
import type { RowKey } from './keys.ts';
import { DIRECTORY_INDEX, SCHEMA_VERSION } from './schema.ts';
import type { Verb } from './verb.ts';

export interface Statement<K extends DynamoKind = DynamoKind> {
  /** `row.intent`: its name in the meter and the logs. */
  readonly verb: Verb;
  readonly kind: K;
  readonly input: DynamoCalls[K]['input'];
  /** Returns the same write as of this wall time. Without it, the times in the write may be as old as its first attempt. */
  readonly restamped?: (now: number) => Statement<K>;
  /** Whether it does not wait behind others for a connection: renewals, and releases, because others may wait for them. */
  readonly goesFirst?: boolean;
}

export type Values = Readonly<Record<`:${string}`, unknown>>;

export interface UpdateParts {
  readonly table: string;
  readonly key: RowKey;
  /** When the write may take effect. */
  readonly guard: string;
  /** The change to the row. */
  readonly effect: string;
  /** Values that the expressions may name, in addition to the stamp and the constants. */
  readonly values?: Values;
  /** The write's `:now` and `:nonce`. */
  readonly stamp?: Partial<Stamp> | undefined;
  /** Whether the writer does not need the resulting row, so the service need not return it. */
  readonly omitsNewRow?: boolean;
  /** Whether the write goes before others. */
  readonly goesFirst?: boolean;
  /** Keys of maps in the expressions, as `#CAPITALS`: ids that we create, never a user's text. */
  readonly mapKeys?: Readonly<Record<`#${Uppercase<string>}`, string>>;
}

/** A conditional update. Its response has the resulting row (unless the writer does not need it) or the row that refused it. */
export function updateStatement(verb: Verb, parts: UpdateParts): Statement<'update'> {
  const { now, nonce } = parts.stamp ?? {};
  const values = { ':now': now, ':nonce': nonce, ...parts.values };
  return {
    verb,
    kind: 'update',
    ...(parts.goesFirst === true ? { goesFirst: true } : {}),
    input: {
      TableName: parts.table,
      Key: { ...parts.key },
      ConditionExpression: parts.guard,
      UpdateExpression: parts.effect,
      ExpressionAttributeNames: { ...namesIn(parts.guard, parts.effect), ...parts.mapKeys },
      ExpressionAttributeValues: valuesIn(`${parts.guard} ${parts.effect}`, values),
      ReturnValues: parts.omitsNewRow === true ? 'NONE' : 'ALL_NEW',
      ReturnConsumedCapacity: 'TOTAL',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
}

const IS_ABSENT = 'attribute_not_exists(#pk)';

/** A put-if-absent that returns the existing row if there is one. @param over another guard, of a row that may be written over */
export function createStatement(
  verb: Verb,
  table: string,
  item: RowKey & Record<string, unknown>,
  { guard = IS_ABSENT, values = {} }: { readonly guard?: string; readonly values?: Values } = {},
): Statement<'put'> {
  return {
    verb,
    kind: 'put',
    input: {
      TableName: table,
      Item: item,
      ConditionExpression: guard,
      ExpressionAttributeNames: namesIn(guard),
      ...namedValues(guard, values),
      ReturnConsumedCapacity: 'TOTAL',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
}

/** An additional condition of a transaction. */
export type TransactionCheck = NonNullable<DynamoCalls['transactWrite']['input']['TransactItems']>[number];

export function checkStatement(table: string, key: RowKey, guard: string, values: Values): TransactionCheck {
  return {
    ConditionCheck: {
      TableName: table,
      Key: { ...key },
      ConditionExpression: guard,
      ExpressionAttributeNames: namesIn(guard),
      ...namedValues(guard, values),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
}

/**
 * A transaction whose later attempts contain their own time. They do not have a token, because the service accepts a repeated token only
 * with the same parameters. Instead, the first action's nonce distinguishes a lost response from a refusal, as in a single write.
 * @param again the same transaction as of a wall time
 */
export function restampedTransaction(
  statement: Statement<'transactWrite'>,
  again: (now: number) => Statement<'transactWrite'>,
): Statement<'transactWrite'> {
  const restamped = (now: number): Statement<'transactWrite'> => {
    const later = again(now);
    const { ClientRequestToken: _, ...input } = later.input;
    return { ...later, input };
  };
  return { ...statement, restamped };
}

/** The same, but it also records the wall times of its later attempts. */
export function notingTimes<K extends keyof DynamoCalls>(statement: Statement<K>, times: Set<number>): Statement<K> {
  const { restamped } = statement;
  if (restamped === undefined) return statement;
  return {
    ...statement,
    restamped: (now) => {
      times.add(now);
      return restamped(now);
    },
  };
}

export function getStatement(verb: Verb, table: string, key: RowKey): Statement<'get'> {
  return {
    verb,
    kind: 'get',
    input: { TableName: table, Key: { ...key }, ConsistentRead: true, ReturnConsumedCapacity: 'TOTAL' },
  };
}

export function batchGetStatement(
  verb: Verb,
  table: string,
  keys: readonly RowKey[],
  options: { readonly consistent: boolean },
): Statement<'batchGet'> {
  const Keys = keys.map((key) => ({ ...key }));
  return {
    verb,
    kind: 'batchGet',
    input: { RequestItems: { [table]: { Keys, ConsistentRead: options.consistent } }, ReturnConsumedCapacity: 'TOTAL' },
  };
}

/** A page of one partition of the table or of an index, in order. It starts after `after`, the last key of the previous page. */
export function queryStatement(
  verb: Verb,
  table: string,
  condition: string,
  values: Values,
  { after, ...options }: QueryOptions,
): Statement<'query'> {
  return {
    verb,
    kind: 'query',
    input: {
      TableName: table,
      KeyConditionExpression: condition,
      ExpressionAttributeNames: namesIn(condition),
      ExpressionAttributeValues: { ...values },
      ...options,
      ReturnConsumedCapacity: 'TOTAL',
      ...(after === undefined ? {} : { ExclusiveStartKey: after as Record<string, unknown> }),
    },
  };
}

type QueryInput = DynamoCalls['query']['input'];

type QueryOptions = Pick<QueryInput, 'IndexName' | 'Limit' | 'ConsistentRead' | 'ScanIndexForward'> & {
  readonly after?: unknown;
};

/** We read the rows behind a page in one batch, and DynamoDB limits a batch to a hundred. */
const DIRECTORY_PAGE_LIMIT = 100;

/** A page of the directory: the keys of one kind of row whose name begins with `prefix`, in order. Eventually consistent. */
export function directoryStatement(
  verb: Verb,
  table: string,
  directory: string,
  prefix: string,
  { after, limit = DIRECTORY_PAGE_LIMIT }: { readonly after: unknown; readonly limit?: number },
): Statement<'query'> {
  // DynamoDB allows no empty text in a condition on a key.
  const isWhole = prefix === '';
  return queryStatement(
    verb,
    table,
    `#directoryKey = :directory${isWhole ? '' : ' AND begins_with(#directoryName, :prefix)'}`,
    { ':directory': directory, ...(isWhole ? {} : { ':prefix': prefix }) },
    { IndexName: DIRECTORY_INDEX.name, Limit: limit, after },
  );
}

/** The same, from the last name to the first, of names from `from` to before `to`. */
export function backwardStatement(
  verb: Verb,
  table: string,
  directory: string,
  { from, to }: NameRange,
  { after, limit }: { readonly after: unknown; readonly limit: number },
): Statement<'query'> {
  return queryStatement(
    verb,
    table,
    '#directoryKey = :directory AND #directoryName BETWEEN :from AND :to',
    { ':directory': directory, ':from': from, ':to': to },
    { IndexName: DIRECTORY_INDEX.name, Limit: limit, ScanIndexForward: false, after },
  );
}

export interface NameRange {
  readonly from: string;
  readonly to: string;
}

/** Returns the placeholder map of the attributes in some expressions. Attributes begin with a small letter; map keys do not. */
export function namesIn(...expressions: readonly string[]): Record<string, string> {
  return placeholdersIn(expressions.join(' ')).names;
}

/** Default values of placeholders. */
const CONSTANTS: Values = { ':v': SCHEMA_VERSION, ':zero': 0, ':one': 1 };

function valuesIn(text: string, given: Values): Record<string, unknown> {
  const named: Record<string, unknown> = {};
  for (const placeholder of placeholdersIn(text).values) {
    const value = given[placeholder] === undefined ? CONSTANTS[placeholder] : given[placeholder];
    assert(value !== undefined, `${placeholder} has no value in ${text}`);
    named[placeholder] = value;
  }
  return named;
}

/** DynamoDB refuses an empty map of values. */
function namedValues(guard: string, given: Values): { readonly ExpressionAttributeValues?: Record<string, unknown> } {
  return guard.includes(':') ? { ExpressionAttributeValues: valuesIn(guard, given) } : {};
}

interface Placeholders {
  readonly names: Record<string, string>;
  readonly values: readonly `:${string}`[];
}

function placeholdersIn(text: string): Placeholders {
  const known = placeholdersByText.get(text);
  if (known !== undefined) return known;
  const names = [...text.matchAll(/#([a-z]\w*)/g)].map(([placeholder, name]) => [placeholder, name] as const);
  const values = [...text.matchAll(/:[a-z]\w*/gi)].map(([placeholder]) => placeholder as `:${string}`);
  const found = { names: Object.fromEntries(names) as Record<string, string>, values: [...new Set(values)] };
  placeholdersByText.set(text, found);
  return found;
}

/** The set of expressions is finite, so the size of this cache is bounded. */
const placeholdersByText = new Map<string, Placeholders>();
