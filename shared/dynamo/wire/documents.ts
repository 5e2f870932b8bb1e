/** Converts requests and responses between our document form and DynamoDB's JSON. Only members with attributes change. */
import type { DynamoCalls, DynamoItem, DynamoKind } from '../engine/driver.ts';
import type { AttributeMap, BinaryForm } from './attribute-value.ts';
import { decodeMap, encodeMap } from './attribute-value.ts';
import { within } from './unstorable.ts';

type Members = Readonly<Record<string, unknown>>;

/** Converts a request to DynamoDB's form. @throws Error that names a value without a form, and the reason */
export function encodeInput<K extends DynamoKind>(
  kind: K,
  input: DynamoCalls[K]['input'],
  binary: BinaryForm,
): Record<string, unknown> {
  const members = input as unknown as Members;
  if (kind === 'transactWrite') return { ...members, TransactItems: actionsOf(members.TransactItems, binary) };
  if (kind === 'batchGet') return { ...members, RequestItems: keysOf(members.RequestItems, binary) };
  return encodeDocuments(members, binary);
}

/** @throws Error for a response that DynamoDB never sends */
export function decodeOutput<K extends DynamoKind>(kind: K, output: Members): DynamoCalls[K]['output'] {
  const decoded: Record<string, unknown> = { ...output };
  for (const name of ['Item', 'Attributes', 'LastEvaluatedKey'] as const)
    if (output[name] !== undefined) decoded[name] = decodeMap(output[name]);
  if (output.Items !== undefined) decoded.Items = listOf(output.Items).map(decodeMap);
  if (kind === 'batchGet') {
    decoded.Responses = mapped(output.Responses, (items) => listOf(items).map(decodeMap));
    decoded.UnprocessedKeys = mapped(output.UnprocessedKeys, (request) => {
      const { Keys, ...others } = request as Members;
      return { ...others, Keys: listOf(Keys).map(decodeMap) };
    });
  }
  return decoded;
}

const DOCUMENTS = ['Item', 'Key', 'ExpressionAttributeValues', 'ExclusiveStartKey'] as const;

function encodeDocuments(members: Members, binary: BinaryForm, path = ''): Record<string, unknown> {
  const encoded: Record<string, unknown> = { ...members };
  for (const name of DOCUMENTS) {
    const document = members[name];
    if (document !== undefined) encoded[name] = encodeAt(`${path}${name}`, document, binary);
  }
  return encoded;
}

function actionsOf(actions: unknown, binary: BinaryForm): unknown {
  return (actions as readonly Members[] | undefined)?.map((action, index) =>
    mapped(
      action,
      (parts, verb) => parts && encodeDocuments(parts as Members, binary, `TransactItems[${index}].${verb}.`),
    ),
  );
}

function keysOf(requests: unknown, binary: BinaryForm): unknown {
  return mapped(requests, (request) => {
    const { Keys, ...others } = request as { readonly Keys?: readonly DynamoItem[] };
    return { ...others, Keys: Keys?.map((key) => encodeAt('Keys', key, binary)) };
  });
}

function encodeAt(path: string, document: unknown, binary: BinaryForm): AttributeMap {
  try {
    return encodeMap(document as DynamoItem, binary);
  } catch (error) {
    throw within(path, document, error);
  }
}

function mapped(
  record: unknown,
  change: (value: unknown, name: string) => unknown,
): Record<string, unknown> | undefined {
  if (record === undefined) return undefined;
  return Object.fromEntries(Object.entries(record as Members).map(([name, value]) => [name, change(value, name)]));
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error('a response lacks a list');
  return value;
}
