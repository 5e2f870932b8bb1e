/**
 * Like `Promise.all`, but waits until all have ended, in any way, before it throws the first error.
 * So a caller that receives a failure leaves nothing running that would continue after a freeze.
 */
export async function allOf<T extends readonly unknown[] | []>(
  values: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const outcomes: readonly PromiseSettledResult<unknown>[] = await Promise.allSettled(values);
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return Promise.all(values);
}
