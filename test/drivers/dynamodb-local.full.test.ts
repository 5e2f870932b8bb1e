/** Suites on AWS's emulator that the first tier runs on the simulated store only. */
import { inject } from 'vitest';
import { suitesOn } from '../support/suites-on.ts';

await suitesOn('dynamodb-local', inject('dynamodbLocalEndpoint'), [
  'task/*.test.ts',
  '{limiter,own-client,ratelimit,task-store,waitgroup,semaphore*}.test.ts',
]);
