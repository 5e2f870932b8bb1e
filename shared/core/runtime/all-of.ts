/**
 * As `Promise.all`, but waits for all of them, however they end, before it throws what the first of them threw:
 * a caller that is told of a failure leaves nothing behind that still runs, and would go on after a freeze.
 */
export async function allOf<T extends readonly unknown[] | []>(
  values: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const outcomes: readonly PromiseSettledResult<unknown>[] = await Promise.allSettled(values);
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return Promise.all(values);
}
