/** Locks, semaphores and tasks behave the same over a client that a user brings. */
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { usersClient } from '../../test/support/drivers.ts';
import { runThrough } from '../../test/support/stores.ts';

runThrough((endpoint) => connectDynamo({ client: usersClient({ endpoint }) }, systemRuntime).driver);
await import('./conformance/lock-transaction.test.ts');
