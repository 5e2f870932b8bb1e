/**
 * How many queries may wait at once, of one token, from one address, and in all: each may cost its own poll, and all polls share
 * the gateway's connections with writes. Beyond, a query is answered with 429.
 */
import { Problem } from './problem.ts';
import type { Rights } from './tokens.ts';

export interface WaitLimits {
  /** Of one token. Requests without one count as one token. */
  readonly token: number;
  /** From one client address, where the server knows it. */
  readonly address: number;
  readonly total: number;
}

interface Caller {
  /** The token's own; requests without a token share theirs. */
  readonly rights: Rights;
  readonly address: string | undefined;
}

export class Waits {
  readonly #limits: WaitLimits;
  readonly #counts = new Map<Rights | string, number>();
  #total = 0;

  constructor(limits: WaitLimits) {
    this.#limits = limits;
  }

  /** @returns how the wait ends @throws Problem 429 */
  begin({ rights, address }: Caller): () => void {
    const { token, address: perAddress, total } = this.#limits;
    if (this.#total >= total) throw tooMany(`${total} in all`);
    if (this.#countOf(rights) >= token) throw tooMany(`${token} of one token`);
    if (address !== undefined && this.#countOf(address) >= perAddress) throw tooMany(`${perAddress} from one address`);
    const subjects = address === undefined ? [rights] : [rights, address];
    this.#total++;
    for (const subject of subjects) this.#counts.set(subject, this.#countOf(subject) + 1);
    return () => {
      this.#total--;
      for (const subject of subjects) {
        const left = this.#countOf(subject) - 1;
        if (left === 0) this.#counts.delete(subject);
        else this.#counts.set(subject, left);
      }
    };
  }

  #countOf(subject: Rights | string): number {
    return this.#counts.get(subject) ?? 0;
  }
}

function tooMany(limit: string): Problem {
  return new Problem(429, `Too many blocking queries wait (${limit}): end some of them, or ask without index`);
}
