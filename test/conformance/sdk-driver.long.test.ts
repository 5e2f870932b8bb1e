/** What users have with `driver: 'sdk'`: locks, semaphores and tasks behave as ever where the AWS SDK sends. */
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { systemRuntime } from '../../shared/runtime/runtime.ts';
import { runThrough } from '../support/stores.ts';

runThrough((endpoint) => connectDynamo({ endpoint, driver: 'sdk' }, systemRuntime).driver);
await import('./lock.test.ts');
await import('./lock-failures.test.ts');
await import('./lock-settling.test.ts');
await import('./lock-several.test.ts');
await import('./lock-transaction.test.ts');
await import('./lock-values.test.ts');
await import('./semaphore.test.ts');
await import('./semaphore-operation.test.ts');
await import('./semaphore-waiting.test.ts');
await import('./task-store.test.ts');
await import('./task/failures.test.ts');
await import('./task/keys.test.ts');
await import('./task/lines.test.ts');
await import('./task/operations.test.ts');
await import('./task/payloads.test.ts');
await import('./task/schedules.test.ts');
