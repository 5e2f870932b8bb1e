/**
 * The index of whatever has no clock of its own: all keys under a prefix, lists of sessions, checks and nodes.
 *
 * Consul numbers all writes in one log. Here each key counts for itself, and a deleted key leaves a list without a trace of its number,
 * so a list's index says what was in the list: 22 bits of its fingerprint below,
 * and above them a count of seconds that only serves to grow.
 *
 *   - It changes exactly when the content does (but for one change in four million, which is then told when the wait is over).
 *   - A client that asks with the index it was given is told a greater one when anything has changed, deletions included, whichever gateway
 *     he asks: nothing is needed but the number itself.
 *   - Without an index, the number follows from the content: the newest entry's clock. One gateway remembers what it told last,
 *     and tells a greater one for another content; two gateways may tell two numbers for one list, both of which are right to ask with.
 *   - It is greater than zero, and exact in a JavaScript number until 2156.
 */

const FINGERPRINT_BITS = 22;
const FINGERPRINTS = 2 ** FINGERPRINT_BITS;
const EPOCH_MS = Date.UTC(2020, 0, 1);
const REMEMBERED_LIMIT = 1_000;

export interface Content {
  /** Hexadecimal, names the content. */
  readonly fingerprint: string;
  /** Clock of its newest entry; 0: it is empty. */
  readonly newestAt: number;
}

export class PrefixIndexes {
  /** The latest last. */
  readonly #told = new Map<string, number>();

  /** @param asked the index that the caller names; 0: none */
  indexOf(what: string, content: Content, asked: number): number {
    if (asked > 0 && isSame(asked, content)) return asked;
    const told = this.#told.get(what) ?? 0;
    const index = told >= asked && isSame(told, content) ? told : nextIndex(content, Math.max(told, asked));
    this.#remember(what, Math.max(told, index));
    return index;
  }

  #remember(what: string, index: number): void {
    this.#told.delete(what);
    this.#told.set(what, index);
    const [oldest = ''] = this.#told.keys();
    if (this.#told.size > REMEMBERED_LIMIT) this.#told.delete(oldest);
  }
}

/** Whether an index that a client was told is that of this content. */
export function isSame(index: number, content: Content): boolean {
  return index % FINGERPRINTS === printOf(content);
}

function nextIndex(content: Content, above: number): number {
  const second = Math.max(1, Math.ceil((content.newestAt - EPOCH_MS) / 1_000));
  const index = second * FINGERPRINTS + printOf(content);
  if (index > above) return index;
  return (Math.floor(above / FINGERPRINTS) + 1) * FINGERPRINTS + printOf(content);
}

function printOf({ fingerprint }: Content): number {
  return Number.parseInt(fingerprint.slice(0, 8), 16) % FINGERPRINTS;
}
