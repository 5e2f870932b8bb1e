/** Numbers and names of a history, as small numbers that the checker can hold. */

/** TLC's integers have 32 bits, and instants of one history lie up to eighty days apart: what lies between two of them is cut to this. */
const LONGEST_GAP_MS = 10_000_000;
const GREATEST = 2 ** 31 - 1;

/**
 * Numbers with the same order, and the same distances where those are short.
 *
 * @throws RangeError when too many of them lie far apart
 */
export function closer(numbers: Iterable<number>): ReadonlyMap<number, number> {
  const sorted = [...new Set(numbers)].sort((one, other) => one - other);
  const moved = new Map<number, number>();
  let at = 1;
  let last = sorted[0] ?? 0;
  for (const number of sorted) {
    at += Math.min(LONGEST_GAP_MS, Math.ceil(number - last));
    moved.set(number, at);
    last = number;
  }
  if (at > GREATEST)
    throw new RangeError(`${moved.size} instants span ${at} ms, and the checker counts to ${GREATEST}`);
  return moved;
}

/** Names by the order in which they are asked for, from 1. */
export class Names {
  readonly #numbers = new Map<unknown, number>();

  of(name: unknown): number {
    const number = this.#numbers.get(name) ?? this.#numbers.size + 1;
    this.#numbers.set(name, number);
    return number;
  }
}
