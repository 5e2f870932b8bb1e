/** Which value of a request DynamoDB has no form for: asked only when its translation has failed. */
import { messageOf, shown } from '../../errors.ts';
import type { DynamoCalls, DynamoKind } from '../engine/driver.ts';
import { DynamoFault, UNSTORABLE } from '../engine/driver.ts';
import { asBytes, encodeValue } from './attribute-value.ts';

/** DynamoDB takes no deeper documents; what is circular has no end. */
const DEPTH_LIMIT = 32;

/** The fault of a request that could not be translated: it was never sent, and never can be. */
export function unstorableFault(input: Input, error: unknown): DynamoFault {
  const message = unstorableIn(input) ?? `the request cannot be written down: ${messageOf(error)}`;
  return new DynamoFault('rejected', { code: UNSTORABLE, message, cause: error });
}

type Input = DynamoCalls[DynamoKind]['input'];

/** Undefined when every value can be sent; otherwise where the first one stands that cannot, and why. */
function unstorableIn(input: Input): string | undefined {
  for (const [path, value] of documentsIn(input)) {
    const found = unstorable(value, path, DEPTH_LIMIT);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What holds values of users, beside the names and texts that we make ourselves. */
const DOCUMENTS = ['Item', 'Key', 'ExpressionAttributeValues', 'ExclusiveStartKey'] as const;

function* documentsIn(input: object, path = ''): Generator<readonly [path: string, value: unknown]> {
  if ('TransactItems' in input && Array.isArray(input.TransactItems)) {
    for (const [index, action] of (input.TransactItems as readonly object[]).entries())
      for (const [verb, parts] of Object.entries(action) as [string, unknown][])
        if (typeof parts === 'object' && parts !== null) yield* documentsIn(parts, `TransactItems[${index}].${verb}.`);
    return;
  }
  for (const name of DOCUMENTS) {
    const document = (input as Readonly<Record<string, unknown>>)[name];
    if (document !== undefined) yield [`${path}${name}`, document];
  }
}

function unstorable(value: unknown, path: string, depth: number): string | undefined {
  // The translation leaves them out.
  if (value === undefined || typeof value === 'function') return undefined;
  const reason = refusal(value);
  if (reason === undefined) return undefined;
  const isParted = depth > 0 && (Array.isArray(value) || isPlain(value));
  for (const [name, part] of isParted ? Object.entries(value) : []) {
    const found = unstorable(part, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`, depth - 1);
    if (found !== undefined) return found;
  }
  return `${path} = ${shown(value)} cannot be stored: ${reason}`;
}

function refusal(value: unknown): string | undefined {
  try {
    encodeValue(value, asBytes);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
