/** Ends of attempts beyond all dates, and one that the service refuses to write. */
import { expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { RetryAfter } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { MAX_EPOCH_MS } from '../../../../shared/core/validate/moment.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

/** The first write that would complete a task is not allowed. */
function forbiddingOnce(driver: DynamoDriver): DynamoDriver {
  let isForbidden = true;
  return {
    attempt(kind, input, signal) {
      const isCompletion = JSON.stringify(input).includes('":finished":"done"');
      if (!isForbidden || !isCompletion) return driver.attempt(kind, input, signal);
      isForbidden = false;
      const fault = { code: 'AccessDeniedException', message: 'not authorized' };
      return Promise.reject(new DynamoFault('rejected', fault));
    },
  };
}

test('a completion for which a permission is missing fails the attempt, and the row names the grant', async () => {
  const q = openMemoryQueue(forbiddingOnce);
  let runs = 0;
  const work = defineTask({ name: 'work', run: () => ++runs });
  await q.client.enqueue(work, null, { id: 't' });

  expect(await q.work({ work })).toMatchObject({ settled: { retried: 1 } });
  const message = expect.stringMatching(/not authorized; in CDK, workers\.grantWork\(role\) allows it$/) as unknown;
  expect(await q.client.get('t')).toMatchObject({ state: 'ready', lastError: { name: 'NotPermitted', message } });
  await q.clock.advance(3_600_000);
  await q.work({ work });

  expect(await q.client.get('t')).toMatchObject({ state: 'done', attempts: 2, result: 2 });
});

test('never ends a wait beyond all dates', async () => {
  const work = defineTask({ name: 'work', run: () => Promise.reject(new RetryAfter(Number.MAX_VALUE, 'never')) });
  const kit = createTestKit({ tasks: { work } });
  await kit.tasks.enqueue(work, null, { id: 't' });

  await kit.drain();

  expect(await kit.tasks.get('t')).toMatchObject({ state: 'ready', readyAt: MAX_EPOCH_MS, attempts: 1 });
});

test('refuses a snooze beyond all dates, and continues the attempt', async () => {
  let told: unknown;
  const work = defineTask({
    name: 'work',
    run: async (_: unknown, task) => {
      told = await task.snooze(Number.MAX_VALUE).catch((error: unknown) => error);
    },
  });
  const kit = createTestKit({ tasks: { work } });
  await kit.tasks.enqueue(work, null, { id: 't' });

  await kit.drain();

  expect(String(told)).toContain('ConfigurationError: snooze = ');
  expect(await kit.tasks.get('t')).toMatchObject({ state: 'done' });
});
