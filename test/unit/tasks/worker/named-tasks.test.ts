/** Tasks named at a worker's start: the index may not show them yet. */
import { describe, expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { FRESH_MS } from '../../../../shared/tasks/picker/tuning.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

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

describe('an idle worker that receives announcements', () => {
  const heard = defineTask({ name: 'heard', run: (_, { id }) => void ran.push(id) });

  /** A worker with three slots and ten seconds of idle time, and a function that announces tasks to it. */
  function listening(q: ReturnType<typeof openMemoryQueue>) {
    const state: { tell?: (ids?: readonly string[]) => void } = {};
    const onEnqueued = (listener: (ids?: readonly string[]) => void): (() => void) => {
      state.tell = listener;
      return () => {
        delete state.tell;
      };
    };
    const working = q.start({ heard }, { concurrency: 3, lingerMs: 10_000, onEnqueued });
    return { working, state };
  }

  test('runs all of them although no index shows them, for one read of rows', async () => {
    const q = openMemoryQueue(behind);
    const { working, state } = listening(q);
    const ids = ['a', 'b', 'c', 'd'];
    const tellOf = async (): Promise<void> => {
      await q.clock.sleep(5_000);
      for (const id of ids) await q.client.enqueue(heard, null, { id });
      state.tell?.(ids);
    };

    const [report] = await q.clock.runUntil(Promise.all([working, tellOf()]), () => true);

    expect(report).toMatchObject({ claimed: 4, claimsRefused: 0, settled: { done: 4 }, ended: 'drained' });
    expect(q.meter.read().byVerb['task.getMany']?.requests).toBe(1);
    expect(state.tell).toBeUndefined();
  });

  test('continues with the remaining tasks if announced ones are gone, delayed or taken', async () => {
    const q = openMemoryQueue(behind);
    await q.client.enqueue(heard, null, { id: 'later', delay: '1h' });
    await q.client.enqueue(heard, null, { id: 'first' });
    const { working, state } = listening(q);
    const tellOf = async (): Promise<void> => {
      await q.clock.sleep(1_000);
      state.tell?.(['never', 'later', 'first']);
      await q.clock.sleep(1_000);
      state.tell?.(['first']);
    };

    const [report] = await q.clock.runUntil(Promise.all([working, tellOf()]), () => true);

    expect(report).toMatchObject({ claimed: 1, claimsRefused: 0, settled: { done: 1 }, ended: 'drained' });
  });
});
