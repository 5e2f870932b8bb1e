/** Combines several statements into one transaction. */
import { sha256 } from '../../core/runtime/sha256.ts';
import type { Stamp } from '../../core/lease/write.ts';
import type { RowKey } from './keys.ts';
import type { Statement } from './statement.ts';
import type { Verb } from './verb.ts';

/** A service quota of DynamoDB. */
export const TRANSACTION_ACTIONS_LIMIT = 100;

/** One action of a transaction. */
export type Action = object;

/** Returns a write as an action of a transaction, without the parts that only apply to a single write's response. */
export function actionOf({ kind, input }: Statement<'put' | 'update' | 'delete'>): Action {
  const { ReturnValues: _, ReturnConsumedCapacity: __, ...action } = input;
  return kind === 'put' ? { Put: action } : kind === 'update' ? { Update: action } : { Delete: action };
}

/** Returns the row of an action as text, because a transaction can name each row only once. */
export function rowOf(action: Action): string {
  const [named] = Object.values(action as Readonly<Record<string, { Item?: RowKey; Key?: RowKey }>>);
  const { pk, sk } = named?.Item ?? named?.Key ?? {};
  return JSON.stringify([pk, sk]);
}

/** The table that an action writes or checks. */
export function tableOf(action: Action): string | undefined {
  return Object.values(action as Readonly<Record<string, { readonly TableName?: string }>>)[0]?.TableName;
}

/**
 * Several actions in one transaction. The first carries the nonce; checks do not.
 * @param token unique per logical write and identical for all its attempts, which must have the same parameters;
 *   see `restampedTransaction` in `statement.ts`
 */
export function transactStatement(verb: Verb, actions: readonly Action[], token: string): Statement<'transactWrite'> {
  return {
    verb,
    kind: 'transactWrite',
    input: { TransactItems: [...actions], ClientRequestToken: token, ReturnConsumedCapacity: 'TOTAL' },
  };
}

/** Combines a write, which has the guard and the nonce, with other actions into one transaction. */
export function together(
  own: Statement<'put' | 'update'>,
  others: readonly Action[],
  token: string,
): Statement<'transactWrite'> {
  return transactStatement(own.verb, [actionOf(own), ...others], token);
}

/** To the service, the same write with other actions is a different request, and needs its own token. */
export function tokenOf({ nonce }: Pick<Stamp, 'nonce'>, others: readonly Action[]): string {
  if (others.length === 0) return nonce;
  const text = JSON.stringify(others, (_, value: unknown) =>
    value instanceof Set ? [...value] : typeof value === 'bigint' ? `${value}n` : value,
  );
  return sha256(nonce + text).slice(0, TOKEN_CHARACTERS);
}

const TOKEN_CHARACTERS = 36;

const ORDINARY_REASONS = new Set([
  'None',
  'ConditionalCheckFailed',
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

/** Whether an action can never be carried out: the row, or the request, is not such that it could. */
export function isUnfit({ code }: { readonly code: string }): boolean {
  return !ORDINARY_REASONS.has(code);
}

/** Whether every condition held, but another writer had a row, or its partition was throttled. The rows stay unknown. */
export function isBlind({ reasons }: { readonly reasons: readonly { readonly code: string }[] }): boolean {
  return reasons.every(({ code }) => code !== 'ConditionalCheckFailed');
}
