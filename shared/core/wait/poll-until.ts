/** A value that can be read, and whose changes are reported during a wait. */
interface Watching<T> {
  readonly read: () => Promise<T>;
  readonly isNews: (seen: T) => boolean;
  /** Returns the next new value; undefined if the signal aborts first. */
  readonly next: (isNews: (seen: T) => boolean, signal: AbortSignal) => Promise<T | undefined>;
}

/**
 * Reads the value and, if it is not new, waits for a change until `over` aborts.
 * The wait begins before the read, so it also reports a change during the read, instead of leaving it to the next poll.
 * @returns the last value seen
 */
export async function pollUntil<T>({ read, isNews, next }: Watching<T>, over: AbortSignal): Promise<T> {
  const found = new AbortController();
  const waiting = next(isNews, AbortSignal.any([over, found.signal]));
  const ended = waiting.then(ignore, ignore);
  try {
    const seen = await read();
    return isNews(seen) ? seen : ((await waiting) ?? seen);
  } finally {
    found.abort();
    await ended;
  }
}

function ignore(): void {
  // Its error is handled where the promise is awaited.
}
