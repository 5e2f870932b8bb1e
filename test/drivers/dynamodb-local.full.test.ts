/** Suites on AWS's emulator that the first tier runs on the embedded engine only. */
import { globSync } from 'node:fs';
import path from 'node:path';
import { inject } from 'vitest';
import { runOnly } from '../support/stores.ts';

runOnly('dynamodb-local', inject('dynamodbLocalEndpoint'));
const CONFORMANCE = path.resolve(import.meta.dirname, '../conformance');
for (const file of globSync(['task/*.test.ts', '{limiter,ratelimit,waitgroup,semaphore*}.test.ts'], {
  cwd: CONFORMANCE,
}).toSorted())
  await import(path.join(CONFORMANCE, file));
