/** Work that a race would leave undone forever. */
import { expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

test('passes the turn to a task that joins its line while the last task before it ends', async () => {
  let isClosing = false;
  const q = openMemoryQueue((driver: DynamoDriver): DynamoDriver => ({
    async attempt(kind, input, signal) {
      if (kind === 'transactWrite' && !isClosing && JSON.stringify(input).includes('SET #turn = :turn, #ttl = :ttl')) {
        isClosing = true;
        await q.client.enqueue(step, 'second', { id: 'second', key: 'line', ordered: true });
      }
      return driver.attempt(kind, input, signal);
    },
  }));
  const ran: string[] = [];
  const step = defineTask({ name: 'step', run: (input: string) => void ran.push(input) });
  await q.client.enqueue(step, 'first', { id: 'first', key: 'line', ordered: true });

  await q.work({ step });
  await q.work({ step });

  expect([isClosing, ran]).toEqual([true, ['first', 'second']]);
});
