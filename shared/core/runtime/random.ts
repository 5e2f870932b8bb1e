/** The only source of randomness. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
}

export const systemRandom: Random = { next: () => Math.random() };

/** Uniform integer in [low, high). */
export function integerBetween(random: Random, low: number, high: number): number {
  return low + Math.floor(random.next() * (high - low));
}

/** A shuffled copy (Fisher and Yates). */
export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = integerBetween(random, 0, last + 1);
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}

/**
 * Full jitter: uniform between 0 and an exponentially growing, capped bound, so that clients that failed at the same time do not retry at
 * the same time.
 * @param attempt 1 for the first retry
 */
export function fullJitterMs(
  random: Random,
  backoff: { readonly baseMs: number; readonly capMs: number },
  attempt: number,
): number {
  const boundMs = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.min(attempt - 1, 30));
  return Math.floor(random.next() * boundMs);
}
