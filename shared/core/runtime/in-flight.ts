/**
 * Runs work, so much of it at a time, and starts no more of it once some has failed: what is not started fails with the same error.
 * Together with `allOf`, a caller that is told of a failure knows that nothing is sent after it.
 */
export function inFlight(atMost: number): <T>(work: () => Promise<T>) => Promise<T> {
  const limit = sideBySide(atMost);
  let failure: { readonly error: unknown } | undefined;
  return (work) =>
    limit(async () => {
      if (failure !== undefined) throw failure.error;
      try {
        return await work();
      } catch (error) {
        failure ??= { error };
        throw error;
      }
    });
}

/** For a caller that does not wait for ever: what its work fails with, never begun, when the signal aborts first. */
interface Patience {
  readonly signal: AbortSignal;
  readonly refusal: () => Error;
}

/** Runs work, so much of it at a time, in the order in which it is given; what fails stops nothing. */
export function sideBySide(atMost: number): <T>(work: () => Promise<T>, patience?: Patience) => Promise<T> {
  let free = atMost;
  const waiting = new Set<() => void>();
  return async (work, patience) => {
    if (patience?.signal.aborted === true) throw patience.refusal();
    if (free > 0) free--;
    else {
      const turn = Promise.withResolvers<undefined>();
      const begin = (): void => turn.resolve(undefined);
      const giveUp = (): void => {
        if (waiting.delete(begin)) turn.reject(patience?.refusal());
      };
      waiting.add(begin);
      patience?.signal.addEventListener('abort', giveUp, { once: true });
      await turn.promise;
      patience?.signal.removeEventListener('abort', giveUp);
    }
    try {
      return await work();
    } finally {
      const [next] = waiting;
      if (next === undefined) free++;
      else {
        // Its place goes from one to the next: what is given meanwhile cannot take it.
        waiting.delete(next);
        next();
      }
    }
  };
}
