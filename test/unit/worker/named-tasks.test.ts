/** Tasks that a worker is told of when it is started: the index may not show them yet. */
import { describe, expect, test } from 'vitest';
import type { DynamoDriver } from '../../../shared/dynamo/engine/driver.ts';
import { defineTask } from '../../../shared/task/definition.ts';
import { openMemoryQueue } from '../../support/memory-queue.ts';

const ran: string[] = [];
const task = defineTask({ name: 'task', run: (_, { id }) => void ran.push(id) });

/** Its queries find nothing, as those of an index that lags far behind. */
function behind(driver: DynamoDriver): DynamoDriver {
  return {
    ...driver,
    async attempt(kind, input, signal) {
      const answer = await driver.attempt(kind, input, signal);
      return kind === 'query' ? { ...answer, Items: [], Count: 0, LastEvaluatedKey: undefined } : answer;
    },
  };
}

describe('a worker that is told of tasks', () => {
  test('runs them although no index shows them, and leaves when it has found no more', async () => {
    const q = openMemoryQueue(behind);
    for (const id of ['a', 'b', 'untold']) await q.client.enqueue(task, null, { id });

    const report = await q.work({ task }, { named: ['a', 'b'] });

    expect(report).toMatchObject({ claimed: 2, settled: { done: 2 }, ended: 'drained' });
    expect((await q.client.get('untold'))?.state).toBe('ready');
  });

  test('runs none that is for later, has ended, or was never there', async () => {
    const q = openMemoryQueue(behind);
    await q.client.enqueue(task, null, { id: 'later', delay: '1h' });
    await q.client.enqueue(task, null, { id: 'done' });
    await q.work({ task }, { named: ['done'] });

    const report = await q.work({ task }, { named: ['later', 'done', 'never'] });

    expect(report).toMatchObject({ claimed: 0, claimsRefused: 0, ended: 'drained' });
  });
});
