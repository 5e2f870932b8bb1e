/** Locks, semaphores and tasks behave the same over a client that a user brings. */
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { usersClient } from '../support/drivers.ts';
import { runThrough } from '../support/stores.ts';

runThrough((endpoint) => connectDynamo({ client: usersClient({ endpoint }) }, systemRuntime).driver);
await import('../conformance/lock.test.ts');
await import('../conformance/lock-failures.test.ts');
await import('../conformance/lock-several.test.ts');
await import('../conformance/lock-values.test.ts');
await import('../conformance/semaphore.test.ts');
await import('../conformance/semaphore-operation.test.ts');
await import('../conformance/semaphore-waiting.test.ts');
await import('../conformance/task/failures.test.ts');
await import('../conformance/task/keys.test.ts');
await import('../conformance/task/lines.test.ts');
await import('../conformance/task/operations.test.ts');
await import('../conformance/task/payloads.test.ts');
await import('../conformance/task/schedules.test.ts');
