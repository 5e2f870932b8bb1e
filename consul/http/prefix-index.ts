/**
 * Computes an index for results without a clock: keys under a prefix, lists of sessions, checks and nodes.
 *
 * Consul numbers all writes in one log. Here each key counts for itself, and a deleted key leaves no number behind in a list.
 * So a list's index encodes its content: the low 22 bits are a fingerprint, and a count of seconds above them makes it grow.
 *
 *   - It changes exactly when the content changes (except one change in four million, which is reported when the wait times out).
 *   - A client that repeats a query with its index gets a greater one after any change, deletions included, from any gateway,
 *     because the number alone carries everything.
 *   - Without an index, the number follows from the content: the newest entry's clock. One gateway remembers its latest number
 *     and gives out a greater one for new content. Two gateways may give two numbers for one list, and both are valid to ask with.
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

/** Whether an index was given out for this content. */
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
