/** The suites of what the edge uses, through `fetch` and WebCrypto. */
import { openFetchDriver } from '../support/drivers.ts';
import { runThrough } from '../support/stores.ts';

runThrough((endpoint) => openFetchDriver({ endpoint }));
await import('../conformance/lock.test.ts');
await import('../conformance/lock-failures.test.ts');
await import('../conformance/lock-several.test.ts');
await import('../conformance/semaphore.test.ts');
await import('../conformance/ratelimit.test.ts');
await import('../conformance/election.test.ts');
await import('../conformance/task/batches.test.ts');
