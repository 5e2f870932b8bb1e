/** Runs a step of a deploy test, and prints a line with its seconds, and its result if that is a text. */
export async function step<T>(what: string, run: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await run();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`ok  ${seconds.padStart(6)} s  ${what}${typeof result === 'string' ? `: ${result}` : ''}`);
  return result;
}
