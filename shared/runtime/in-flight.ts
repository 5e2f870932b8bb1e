import pLimit from 'p-limit';

/**
 * Runs work, so much of it at a time, and starts no more of it once some has failed: what is not started fails with the same error.
 * Together with `allOf`, a caller that is told of a failure knows that nothing is sent after it.
 */
export function inFlight(atMost: number): <T>(work: () => Promise<T>) => Promise<T> {
  const limit = pLimit(atMost);
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
