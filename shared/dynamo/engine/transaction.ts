/** Several statements as one transaction: all of them, or none. */
import { sha256 } from '../../runtime/sha256.ts';
import type { Stamp } from '../../lease/stamp.ts';
import type { Statement } from './statement.ts';

/** One action of a transaction. */
export type Action = object;

/** A write as an action: what only an answer of its own could carry is left out. */
export function actionOf({ kind, input }: Statement<'put' | 'update' | 'delete'>): Action {
  const { ReturnValues: _, ReturnConsumedCapacity: __, ...action } = input;
  return kind === 'put' ? { Put: action } : kind === 'update' ? { Update: action } : { Delete: action };
}

/** One transaction of a write, which carries the guard and the nonce, and what goes with it. */
export function together(
  own: Statement<'put' | 'update'>,
  others: readonly Action[],
  token: string,
): Statement<'transactWrite'> {
  return {
    verb: own.verb,
    kind: 'transactWrite',
    input: {
      TransactItems: [actionOf(own), ...others],
      ClientRequestToken: token,
      ReturnConsumedCapacity: 'TOTAL',
    },
  };
}

/** Another composition of the same write is another request to the service, and needs a token of its own. */
export function tokenOf({ nonce }: Pick<Stamp, 'nonce'>, others: readonly Action[]): string {
  if (others.length === 0) return nonce;
  const text = JSON.stringify(others, (_, value: unknown) =>
    value instanceof Set ? [...value] : typeof value === 'bigint' ? `${value}n` : value,
  );
  return sha256(nonce + text).slice(0, TOKEN_CHARACTERS);
}

const TOKEN_CHARACTERS = 36;
