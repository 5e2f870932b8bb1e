/** Requests as a client of DynamoDB writes them, into the simulated store's form, and its answers back. */
import { defined } from '../../shared/core/defined.ts';
import type { DynamoCalls, DynamoItem, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import { base64, decodeMap, encodeMap } from '../../shared/dynamo/wire/attribute-value.ts';

export type Members = Readonly<Record<string, unknown>>;

/** The operations on rows that the store has, by their names on the wire. */
export const ROW_OPERATIONS: Readonly<Record<string, DynamoKind>> = {
  GetItem: 'get',
  BatchGetItem: 'batchGet',
  Query: 'query',
  PutItem: 'put',
  UpdateItem: 'update',
  DeleteItem: 'delete',
  TransactWriteItems: 'transactWrite',
};

/** @throws Error for a request that no DynamoDB client writes */
export function decodeInput<K extends DynamoKind>(kind: K, members: Members): DynamoCalls[K]['input'] {
  if (kind === 'transactWrite') {
    const actions = listOf(members.TransactItems).map((action) => mapped(action, decodeDocuments));
    return { ...members, TransactItems: actions };
  }
  if (kind === 'batchGet') {
    const requests = mapped(members.RequestItems, (request) => ({
      ...recordOf(request),
      Keys: listOf(recordOf(request).Keys).map(decodeMap),
    }));
    return { ...members, RequestItems: requests } as DynamoCalls[K]['input'];
  }
  return decodeDocuments(members) as unknown as DynamoCalls[K]['input'];
}

export function encodeOutput(output: object): Members {
  const { Item, Attributes, LastEvaluatedKey, Items, Responses, UnprocessedKeys, ...others } = output as Members;
  return {
    ...others,
    ...defined({
      Item: Item && encodeItem(Item),
      Attributes: Attributes && encodeItem(Attributes),
      LastEvaluatedKey: LastEvaluatedKey && encodeItem(LastEvaluatedKey),
      Items: Items && listOf(Items).map(encodeItem),
      Responses: Responses && mapped(Responses, (items) => listOf(items).map(encodeItem)),
    }),
    ...(UnprocessedKeys === undefined
      ? {}
      : {
          UnprocessedKeys: mapped(UnprocessedKeys, (request) => ({
            ...recordOf(request),
            Keys: listOf(recordOf(request).Keys).map(encodeItem),
          })),
        }),
  };
}

export function encodeItem(item: unknown): Members {
  return encodeMap(item as DynamoItem, base64);
}

/** @throws Error */
export function recordOf(value: unknown): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('an object is missing');
  return value as Members;
}

/** A missing value is an empty list: the store reports its requirements. @throws Error */
function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error('a list is missing');
  return value;
}

export function rejected(code: string, message: string): DynamoFault {
  return new DynamoFault('rejected', { code, message });
}

const DOCUMENTS = ['Item', 'Key', 'ExpressionAttributeValues', 'ExclusiveStartKey'] as const;

/** @throws Error */
export function decodeDocuments(given: unknown): Members {
  const decoded: Record<string, unknown> = { ...recordOf(given) };
  // The SDK leaves out what is undefined; other clients write null.
  for (const name of Object.keys(decoded)) if (decoded[name] === null) Reflect.deleteProperty(decoded, name);
  for (const name of DOCUMENTS) if (decoded[name] !== undefined) decoded[name] = decodeMap(decoded[name]);
  return decoded;
}

function mapped(record: unknown, change: (value: unknown) => unknown): Members {
  return Object.fromEntries(Object.entries(recordOf(record ?? {})).map(([name, value]) => [name, change(value)]));
}
