/**
 * Runs jobs with bounded concurrency and starts no more after a failure: jobs that have not started fail with the same error.
 * Together with `allOf`, a caller that receives a failure knows that nothing is sent afterwards.
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

/** Runs jobs with bounded concurrency, in the given order. A failed job does not stop the others. */
export function sideBySide(atMost: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = atMost;
  const waiting = new Set<() => void>();
  return async (work) => {
    if (free > 0) free--;
    else {
      const turn = Promise.withResolvers<undefined>();
      waiting.add(() => turn.resolve(undefined));
      await turn.promise;
    }
    try {
      return await work();
    } finally {
      const [next] = waiting;
      if (next === undefined) free++;
      else {
        // The slot passes from one job to the next, so a job added in the meantime cannot take it.
        waiting.delete(next);
        next();
      }
    }
  };
}
