/** What users have with `driver: 'sdk'`: locks, semaphores and tasks behave as ever where the AWS SDK sends. */
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { runThrough } from '../../test/support/stores.ts';

runThrough((endpoint) => connectDynamo({ endpoint, driver: 'sdk' }, systemRuntime).driver);
await import('./conformance/lock-transaction.test.ts');
