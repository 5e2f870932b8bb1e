/** Items of a pack share its lease counter, and may write to one fenced row. */
import { expect, test } from 'vitest';
import { dynamoFence } from '../../../../shared/dynamo/dynamo-fence.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';
import { SimulatedDynamo } from '../../../../shared/testing/simulated-dynamo/simulated-dynamo.ts';

test('accepts fenced writes of all items of a pack', async () => {
  const accounts = new SimulatedDynamo({ now: () => 0 });
  accounts.createTable({ name: 'accounts', partition: { name: 'id', type: 'S' } });
  const driver = simulatedDriver(accounts);
  const add = defineTask({
    name: 'add',
    retry: { maxAttempts: 1 },
    run: async (amount: number, task) => {
      const input = dynamoFence(task).update({
        TableName: 'accounts',
        Key: { id: 'total' },
        UpdateExpression: 'ADD amount :amount',
        ExpressionAttributeValues: { ':amount': amount },
      });
      await driver.attempt('update', input, new AbortController().signal);
    },
  });
  const kit = createTestKit({ tasks: { add } });
  await kit.tasks.enqueueBulk(add, [1, 2, 4], { id: 'b' });

  const { settled } = await kit.drain();

  expect(settled).toMatchObject({ done: 3, dead: 0 });
  expect(accounts.scan('accounts')).toMatchObject([{ id: 'total', amount: 7 }]);
});
