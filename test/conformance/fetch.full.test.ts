/** The suites of what the edge uses, through `fetch` and WebCrypto. */
import { openFetchDriver } from '../support/drivers.ts';
import { runThrough } from '../support/stores.ts';

runThrough((endpoint) => openFetchDriver({ endpoint }));
await import('./lock.test.ts');
await import('./lock-failures.test.ts');
await import('./lock-several.test.ts');
await import('./semaphore.test.ts');
await import('./ratelimit.test.ts');
await import('./election.test.ts');
await import('./task-store.test.ts');
await import('./task/batches.test.ts');
