/** A request in the form that all transports send: its body and the headers that describe it. */
import type { Ids } from '../../core/runtime/ids.ts';
import type { DynamoCalls, DynamoKind } from '../engine/driver.ts';
import { base64 } from './attribute-value.ts';
import { encodeInput } from './documents.ts';
import { unstorableFault } from './unstorable.ts';

/** @throws DynamoFault for a value that cannot be stored */
export function bodyOf<K extends DynamoKind>(
  kind: K,
  input: DynamoCalls[K]['input'],
  ids: Pick<Ids, 'unique'>,
): string {
  try {
    const members = encodeInput(kind, input, base64);
    // As in the SDK: without a token, a transaction that is delivered twice would be carried out twice.
    if (kind === 'transactWrite') members.ClientRequestToken ??= ids.unique();
    return JSON.stringify(members);
  } catch (error) {
    throw unstorableFault(error);
  }
}

export const TARGETS: Readonly<Record<DynamoKind, string>> = {
  get: 'DynamoDB_20120810.GetItem',
  batchGet: 'DynamoDB_20120810.BatchGetItem',
  query: 'DynamoDB_20120810.Query',
  put: 'DynamoDB_20120810.PutItem',
  update: 'DynamoDB_20120810.UpdateItem',
  delete: 'DynamoDB_20120810.DeleteItem',
  transactWrite: 'DynamoDB_20120810.TransactWriteItems',
};

/** The first table determines the endpoint, as in the SDK. */
export function firstTable(input: DynamoCalls[DynamoKind]['input']): string {
  if ('RequestItems' in input) return Object.keys(input.RequestItems ?? {})[0] ?? '';
  if (!('TransactItems' in input)) return (input as { readonly TableName?: string }).TableName ?? '';
  const [parts] = Object.values(input.TransactItems?.[0] ?? {}) as { readonly TableName?: string }[];
  return parts?.TableName ?? '';
}
