/**
 * The client tokens of transactions: within ten minutes the same token means the same transaction.
 * Only a successful transaction is remembered; a canceled one may run again under its token.
 */
import { isWrappedNumber } from './exact-number.ts';
import { tokenMismatchFault } from './fault.ts';

const TOKEN_LIFETIME_MS = 10 * 60 * 1000;

/** The charge for a repeated transaction: the larger image of each item, by table. */
export interface CompletedTransaction {
  readonly items: readonly { readonly table: string; readonly bytes: number }[];
}

interface Remembered {
  readonly completedAt: number;
  readonly request: string;
  readonly transaction: CompletedTransaction;
}

export class IdempotencyTokens {
  readonly #now: () => number;
  readonly #byToken = new Map<string, Remembered>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** @throws DynamoFault if the token belongs to a different transaction */
  find(token: string, actions: unknown): CompletedTransaction | undefined {
    this.#forgetExpired();
    const remembered = this.#byToken.get(token);
    if (remembered === undefined) return undefined;
    if (remembered.request !== fingerprint(actions)) throw tokenMismatchFault();
    return remembered.transaction;
  }

  remember(token: string, actions: unknown, transaction: CompletedTransaction): void {
    this.#byToken.set(token, { completedAt: this.#now(), request: fingerprint(actions), transaction });
  }

  /** They are kept in the order of their completion. */
  #forgetExpired(): void {
    const oldest = this.#now() - TOKEN_LIFETIME_MS;
    for (const [token, { completedAt }] of this.#byToken) {
      if (oldest < completedAt) return;
      this.#byToken.delete(token);
    }
  }
}

/** The same text for the same request, however its parameters are ordered. */
function fingerprint(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `${typeof value}:${String(value)}`;
  if (value instanceof Uint8Array) return `bytes:${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return `[${value.map(fingerprint).join(',')}]`;
  if (value instanceof Set) return `{${[...value].map(fingerprint).sort().join(',')}}`;
  if (isWrappedNumber(value)) return `number:${value.toString()}`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  const texts = members.map(([name, member]) => `${JSON.stringify(name)}=${fingerprint(member)}`);
  return `(${texts.sort().join(',')})`;
}
