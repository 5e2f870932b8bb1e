/** The error in task code after its commit's own condition refused it, following an unanswered attempt. */
import { expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

/** The first `count` transactions never arrive, without an error. */
function losing(count: number): (driver: DynamoDriver) => DynamoDriver {
  let lost = 0;
  return (driver) => ({
    attempt(kind, input, signal) {
      if (kind === 'transactWrite' && lost++ < count)
        return Promise.reject(new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' }));
      return driver.attempt(kind, input, signal);
    },
  });
}

async function refusalAfter(unanswered: number): Promise<unknown> {
  const q = openMemoryQueue(losing(unanswered));
  const impossible = {
    Put: { TableName: q.table, Item: { pk: 'x', sk: 'x' }, ConditionExpression: 'attribute_exists(pk)' },
  };
  let told: unknown;
  const commits = defineTask({
    name: 'commits',
    run: async (_: null, context) => {
      told = await context.commit('done', [impossible]).catch((error: unknown) => error);
    },
  });
  await q.client.enqueue(commits, null);
  await q.work({ commits });
  return told;
}

test('all attempts answered: nothing was applied', async () => {
  expect(String(await refusalAfter(0))).toMatch(/^CommitRefusedError: .*nothing was applied$/);
});

test('one attempt without an answer: that is not known', async () => {
  expect(await refusalAfter(1)).toMatchObject({ name: 'StoreUnavailableError', applied: 'unknown' });
});
