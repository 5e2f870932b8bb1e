import { expect, test } from 'vitest';
import { findOldestReady } from '../../../../shared/tasks/dispatch/oldest-ready.ts';
import type { TaskStore } from '../../../../shared/tasks/task/task-store.ts';
import type { TaskRecord } from '../../../../shared/tasks/task/task.ts';

/** The first `running` entries, due a millisecond after one another, are of tasks that run. */
function open(count: number, running: number) {
  const due = Array.from({ length: count }, (_, n) => ({ queue: 'q', id: String(n), readyAt: n }));
  let read = 0;
  const tasks: Pick<TaskStore, 'getMany'> = {
    getMany: (keys) => {
      read += keys.length;
      return Promise.resolve(
        keys.map(
          ({ id }) => ({ state: Number(id) < running ? 'running' : 'ready', readyAt: Number(id) }) as TaskRecord,
        ),
      );
    },
  };
  return { find: (atLeast = 25) => findOldestReady(due.toReversed(), tasks, { atLeast }), read: () => read };
}

test('reads only a few rows if the oldest task waits', async () => {
  const queue = open(5_000, 0);

  expect((await queue.find()).readyAt).toBe(0);
  expect(queue.read()).toBe(25);
});

test('reads on while no task waits', async () => {
  const queue = open(900, 850);

  expect((await queue.find()).readyAt).toBe(850);
  expect(queue.read()).toBe(900);
});

test('samples very many tasks, and reports a nearly oldest one', async () => {
  const queue = open(8_000, 2_000);

  expect(await queue.find().then(({ readyAt }) => readyAt)).toBeOneOf(Array.from({ length: 16 }, (_, n) => 2_000 + n));
  expect(queue.read()).toBeLessThanOrEqual(1_000);
});

test('gives up after a thousand rows', async () => {
  const queue = open(8_000, 8_000);

  expect((await queue.find()).readyAt).toBeUndefined();
  expect(queue.read()).toBeLessThanOrEqual(1_000);
});

test('reads at least the requested number of rows', async () => {
  const queue = open(1_000, 0);

  expect(await queue.find(200)).toMatchObject({ readyAt: 0 });
  expect(queue.read()).toBe(200);
});
