/**
 * The same when every request arrives twice: each of our writes tolerates it.
 * The second arrives right after the first, otherwise a rate limit would rightly count some takes twice; `test/e2e/edge` has the other
 * cases.
 */
import { afterAll, expect, test } from 'vitest';
import { openFetchDriver } from '../support/drivers.ts';
import { runThrough } from '../support/stores.ts';
import type { TwiceProxy } from '../support/twice-proxy.ts';
import { startTwiceProxy } from '../support/twice-proxy.ts';

const proxies: TwiceProxy[] = [];
afterAll(async () => {
  for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
});

runThrough(async (endpoint) => {
  const proxy = await startTwiceProxy(endpoint, { answer: 'first', inARow: true });
  proxies.push(proxy);
  return openFetchDriver({ endpoint: proxy.endpoint });
});
await import('../conformance/lock.test.ts');
await import('../conformance/lock-failures.test.ts');
await import('../conformance/lock-several.test.ts');
await import('../conformance/semaphore.test.ts');
await import('../conformance/ratelimit.test.ts');
await import('../conformance/election.test.ts');
await import('../conformance/task/batches.test.ts');

test('every request of these suites was delivered twice', () => {
  for (const { delivered } of proxies) {
    expect(delivered).toBeGreaterThan(50);
    expect(delivered % 2).toBe(0);
  }
});
