/** A process announces the tasks that it creates to its own workers: which ones, for each way of creating a task. */
import { beforeEach, expect, test } from 'vitest';
import { stampOf } from '../../../../shared/core/lease/write.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { ReadyTask, RunningTask } from '../../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../../shared/tasks/task/task.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { openMemoryQueue, QUEUE } from '../../../support/memory-queue.ts';

let q: MemoryQueue;
let announced: string[];

beforeEach(() => {
  announced = [];
  q = openMemoryQueue(undefined, (tasks) => {
    announced.push(...tasks.map(({ id }) => id));
  });
});

async function claim(id: string): Promise<RunningTask> {
  const ready = (await q.tasks.get({ queue: QUEUE, id })) as ReadyTask;
  const claimed = await q.tasks.claim(ready, 'session', stampOf(q.runtime));
  if (claimed.kind !== 'applied') throw new Error('the claim was refused');
  return claimed.row;
}

/** A parent's children, checked. */
const childrenOf = (links: object, line?: string) =>
  Promise.all(['c', 'd'].map(async (id) => ({ ...(await q.client.validate('work', id, { id })), links, line })));
const IN_LINE = { key: 'k', ordered: true };
const numbered = () => ({ ...stampOf(q.runtime), sequence: 1 });

const WAYS: Readonly<Record<string, { readonly act: () => Promise<unknown>; readonly ids: readonly string[] }>> = {
  'a task': { act: () => q.client.enqueue('work', 1, { id: 't' }), ids: ['t'] },
  'a delayed task': { act: () => q.client.enqueue('work', 1, { id: 't', delay: '1h' }), ids: ['t'] },
  'a task twice': {
    act: async () => {
      await q.client.enqueue('work', 1, { id: 't' });
      await q.client.enqueue('work', 1, { id: 't' });
    },
    ids: ['t'],
  },
  'tasks of a line': {
    act: async () => {
      await q.client.enqueue('work', 1, { id: 't', ...IN_LINE });
      await q.client.enqueue('work', 1, { id: 'u', ...IN_LINE });
    },
    ids: ['t'],
  },
  'a batch': {
    act: () =>
      q.client.enqueueBatch([spawn('work', 1, { id: 't' })], { id: 'b', then: spawn('work', 1, { id: 'then' }) }),
    ids: ['t'],
  },
  'children of a commit': {
    act: async () => {
      await q.client.enqueue('work', 1, { id: 't' });
      const effects = (await childrenOf({})).map((child) => ({ spawn: child }));
      await q.tasks.commit(claimOf(await claim('t')), null, effects, numbered());
    },
    ids: ['t', 'c', 'd'],
  },
  'children that a parent waits for': {
    act: async () => {
      await q.client.enqueue('work', 1, { id: 't' });
      await q.tasks.waitForChildren(claimOf(await claim('t')), 'b', await childrenOf({ batch: 'b' }), numbered());
    },
    ids: ['t', 'c', 'd'],
  },
  'children of a commit that is refused': {
    act: async () => {
      await q.client.enqueue('work', 1, { id: 't' });
      await q.client.enqueue('work', 1, { id: 'd' });
      const effects = (await childrenOf({})).map((child) => ({ spawn: child }));
      await q.tasks.commit(claimOf(await claim('t')), null, effects, numbered());
    },
    ids: ['t', 'd'],
  },
};

test.each(Object.entries(WAYS))('%s', async (_way, { act, ids }) => {
  await act();

  expect(announced).toEqual(ids);
});
