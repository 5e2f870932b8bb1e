/**
 * The permits of a queue's workers, dealt over parts: a part is a semaphore of its own, with up to ten permits.
 *
 * A semaphore's row names its holders, and each write costs a unit per KB of the row. With ten holders it stays below one.
 * A small limit has one part, which has the name of the whole: `workers/<queue>`. The other parts are `workers.<n>/<queue>`.
 * Part n has the permits from 10 n on. So a higher limit lowers no part, and a lower limit raises none:
 * in the middle of a change, the parts together allow at most the higher of the two limits.
 */

/** Eleven holders and the marks of released permits would need a second write unit. */
export const PERMITS_PER_PART = 10;
/** The tokens of part n begin at n times this number: no token is in two parts. Counters start at the clock, which is far below it. */
export const TOKENS_PER_PART = 2 ** 43;

const NAME = /^workers(?:\.([1-9][0-9]{0,3}))?\/(.*)$/s;

/** Returns the queue and the number of the part; undefined for a user's semaphore. */
export function parsePart(semaphore: string): { readonly queue: string; readonly part: number } | undefined {
  const [, part = '0', queue] = NAME.exec(semaphore) ?? [];
  return queue === undefined ? undefined : { queue, part: Number(part) };
}

/** Returns the queue if this is the name of all permits of its workers. */
export function queueOfFleet(semaphore: string): string | undefined {
  const { queue, part } = parsePart(semaphore) ?? {};
  return part === 0 ? queue : undefined;
}

export function partName(queue: string, part: number): string {
  return part === 0 ? `workers/${queue}` : `workers.${part}/${queue}`;
}

/** Returns the number of parts that a limit needs. */
export function partsFor(limit: number): number {
  return Math.ceil(limit / PERMITS_PER_PART);
}

/** Returns the number of permits that a semaphore's row may give under a limit: for a part, its share. */
export function capacityOf({ name, limit }: { readonly name: string; readonly limit: number }): number {
  const { part } = parsePart(name) ?? {};
  return part === undefined ? limit : Math.min(PERMITS_PER_PART, Math.max(0, limit - part * PERMITS_PER_PART));
}

/** Returns the number above which a semaphore's tokens begin, apart from the clock. */
export function tokenBase(name: string): number {
  return (parsePart(name)?.part ?? 0) * TOKENS_PER_PART;
}

export function partOfToken(token: number): number {
  return Math.floor(token / TOKENS_PER_PART);
}
