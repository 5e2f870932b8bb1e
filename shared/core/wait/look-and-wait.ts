/** Waiting for news of something that can be looked at, and is told of while one waits. */
interface Watching<T> {
  readonly look: () => Promise<T>;
  readonly isNews: (seen: T) => boolean;
  /** The next that is news; undefined when the signal aborts before. */
  readonly next: (isNews: (seen: T) => boolean, signal: AbortSignal) => Promise<T | undefined>;
}

/**
 * Looks, and unless that shows news, waits for them until `over` aborts.
 * The wait begins before the look: what changes while the look is under way is told as well, and not only by the next poll.
 * @returns what was seen last
 */
export async function lookAndWait<T>({ look, isNews, next }: Watching<T>, over: AbortSignal): Promise<T> {
  const found = new AbortController();
  const waiting = next(isNews, AbortSignal.any([over, found.signal]));
  const ended = waiting.then(ignore, ignore);
  try {
    const seen = await look();
    return isNews(seen) ? seen : ((await waiting) ?? seen);
  } finally {
    found.abort();
    await ended;
  }
}

function ignore(): void {
  // It is awaited where it counts.
}
