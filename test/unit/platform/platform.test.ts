import { expect, test } from 'vitest';
import { parseDispatchEnv, parseWakeEnv, parseWorkEnv } from '../../../functions/env.ts';
import { functionsOf } from '../../../examples/platform/platform.ts';

test('dispatcher, waker and workers of a laptop have the same settings', () => {
  const settings = { queue: 'jobs', maxWorkers: 7, concurrency: 3, maxClockSkewMs: 250 };
  const functions = functionsOf('http://127.0.0.1:8000', {
    ...settings,
    startWithinMs: 4_000,
    tasksEntry: '/tasks.ts',
    sessionTtlMs: 3_000,
    workerTimeoutMs: 20_000,
    deadlineMarginMs: 2_000,
    workerMemoryMb: 128,
  });

  expect(parseDispatchEnv(functions['leasehold-dispatch'].environment)).toMatchObject({
    ...settings,
    startWithinMs: 4_000,
  });
  expect(parseWakeEnv(functions['leasehold-wake'].environment).queues).toMatchObject([
    { ...settings, startWithinMs: 4_000 },
  ]);
  expect(parseWorkEnv(functions['leasehold-work'].environment)).toMatchObject({ queue: 'jobs', concurrency: 3 });
});
