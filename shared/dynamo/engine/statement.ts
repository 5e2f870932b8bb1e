/**
 * A statement: one intent of the protocol as one DynamoDB request.
 *
 * Expressions are complete literals that write every attribute as `#name`: its own name after a `#`.
 * The placeholder map is derived from the text, so no name can be missing, reserved, or taken from a user.
 * A test checks all expressions against the schema's attributes (`test/unit/dynamo/attributes.test.ts`).
 */
import type { DynamoCalls, DynamoKind } from './driver.ts';
import type { RowKey } from './keys.ts';
import { DIRECTORY_INDEX } from './schema.ts';
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
  readonly values: Values;
  /** Whether the writer does not need the resulting row, so the service need not return it. */
  readonly omitsNewRow?: boolean;
  /** Whether the write goes before others. */
  readonly goesFirst?: boolean;
  /** Keys of maps in the expressions, as `#CAPITALS`: ids that we create, never a user's text. */
  readonly mapKeys?: Readonly<Record<`#${Uppercase<string>}`, string>>;
}

/** A conditional update. Its response has the resulting row (unless the writer does not need it) or the row that refused it. */
export function updateStatement(verb: Verb, parts: UpdateParts): Statement<'update'> {
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
      ExpressionAttributeValues: { ...parts.values },
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
  { guard = IS_ABSENT, values }: { readonly guard?: string; readonly values?: Values } = {},
): Statement<'put'> {
  return {
    verb,
    kind: 'put',
    input: {
      TableName: table,
      Item: item,
      ConditionExpression: guard,
      ExpressionAttributeNames: namesIn(guard),
      ...(values === undefined ? {} : { ExpressionAttributeValues: { ...values } }),
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
      ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: { ...values } }),
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
  const text = expressions.join(' ');
  let names = namesByText.get(text);
  if (names === undefined) {
    names = {};
    for (const [placeholder] of text.matchAll(/#[a-z]\w*/g)) {
      names[placeholder] = placeholder.slice(1);
    }
    namesByText.set(text, names);
  }
  return names;
}

/** The set of expressions is finite, so the size of this cache is bounded. */
const namesByText = new Map<string, Record<string, string>>();
