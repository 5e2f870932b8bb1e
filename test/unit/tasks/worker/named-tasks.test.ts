/** Tasks named at a worker's start: the index may not show them yet. */
import { describe, expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { FRESH_MS } from '../../../../shared/tasks/picker/tuning.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { QUEUE, openMemoryQueue } from '../../../support/memory-queue.ts';

const ran: string[] = [];
const task = defineTask({ name: 'task', run: (_, { id }) => void ran.push(id) });

/** Its queries find nothing, as if the index lagged far behind. */
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
  test('runs them although no index shows them, and then exits', async () => {
    const q = openMemoryQueue(behind);
    for (const id of ['a', 'b', 'untold']) await q.client.enqueue(task, null, { id });

    const report = await q.work({ task }, { named: ['a', 'b'] });

    expect(report).toMatchObject({ claimed: 2, settled: { done: 2 }, ended: 'drained' });
    expect((await q.client.get('untold'))?.state).toBe('ready');
  });

  test('skips delayed, ended and missing ones', async () => {
    const q = openMemoryQueue(behind);
    await q.client.enqueue(task, null, { id: 'later', delay: '1h' });
    await q.client.enqueue(task, null, { id: 'done' });
    await q.work({ task }, { named: ['done'] });

    const report = await q.work({ task }, { named: ['later', 'done', 'never'] });

    expect(report).toMatchObject({ claimed: 0, claimsRefused: 0, ended: 'drained' });
  });

  test('runs what wakers note in the row of the queue while it works, and once more before it exits', async () => {
    const q = openMemoryQueue(behind);
    const note = async (id: string): Promise<void> => {
      await q.client.enqueue(task, null, { id });
      const observed = (await q.queues.get(QUEUE))?.starts;
      const heard = [...(observed?.heard ?? []), { at: q.clock.now(), count: 1, ids: [id] }];
      const starts = { count: 0, token: 0, untilMs: 0, waitMs: 0, heard };
      await q.queues.noteStarts(QUEUE, observed, starts, { now: q.clock.now(), nonce: id });
    };
    await q.operator.pause({ reason: 'for its row' });
    await q.operator.resume();
    await note('first');
    void q.clock.sleep(1_000).then(() => note('second'));
    // It stays 1.9 s after its last task, and looks each 200 ms.
    void q.clock.sleep(2_800).then(() => note('third'));
    const ranBefore = ran.length;

    const report = await q.work({ task }, { named: ['first'], stays: true });

    expect(ran.slice(ranBefore)).toEqual(['first', 'second', 'third']);
    expect(report).toMatchObject({ claimed: 3, ended: 'drained' });
  });

  test('reads them again if their rows became stale before a slot was free', async () => {
    const q = openMemoryQueue();
    const slow = defineTask({ name: 'slow', run: () => q.clock.sleep(10 * FRESH_MS) });
    for (const id of ['a', 'b', 'c']) await q.client.enqueue(slow, null, { id });
    const handBack = new AbortController();
    void q.clock.sleep(60_000).then(() => handBack.abort());

    const report = await q.work({ slow }, { named: ['a', 'b', 'c'], handBack: handBack.signal });

    expect(report).toMatchObject({ settled: { done: 3 }, ended: 'drained' });
  });
});
