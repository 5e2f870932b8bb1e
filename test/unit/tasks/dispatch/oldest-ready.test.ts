import { expect, test } from 'vitest';
import { findOldestReady } from '../../../../shared/tasks/dispatch/oldest-ready.ts';
import { IDLE_KEY } from '../../../../shared/tasks/task/key-limit.ts';
import type { TaskStore } from '../../../../shared/tasks/task/task-store.ts';
import type { TaskRecord } from '../../../../shared/tasks/task/task.ts';

interface Keyed {
  readonly keyOf?: (n: number) => string;
  readonly full?: readonly string[];
  /** All are in one line. */
  readonly turn?: number;
}

/** The first `running` entries, due a millisecond after one another, are of tasks that run. Keys have a limit of 1. */
function open(count: number, running: number, { keyOf, full = [], turn }: Keyed = {}) {
  const due = Array.from({ length: count }, (_, n) => ({ queue: 'q', id: String(n), readyAt: n }));
  let read = 0;
  let keysRead = 0;
  const tasks: Pick<TaskStore, 'getMany' | 'getKeys' | 'getTurns'> = {
    getTurns: (_queue, keys) => Promise.resolve(new Map(keys.map((key) => [key, turn ?? 0]))),
    getKeys: (_queue, keys) => {
      keysRead += keys.length;
      const stateOf = (key: string) => ({ ...IDLE_KEY, running: full.includes(key) ? 1 : 0 });
      return Promise.resolve(new Map(keys.map((key) => [key, stateOf(key)])));
    },
    getMany: (keys) => {
      read += keys.length;
      return Promise.resolve(
        keys.map(({ queue, id }) => {
          const key = keyOf?.(Number(id));
          const line = turn === undefined ? undefined : { key: 'l', ticket: Number(id) };
          const links = { line, concurrency: key === undefined ? undefined : { key, limit: 1 } };
          return { queue, state: Number(id) < running ? 'running' : 'ready', readyAt: Number(id), links } as TaskRecord;
        }),
      );
    },
  };
  return {
    find: (atLeast = 25) => findOldestReady(due.toReversed(), tasks, { atLeast, now: 0 }),
    read: () => read,
    keysRead: () => keysRead,
  };
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

test('leaves out tasks behind others in their line', async () => {
  expect((await open(100, 10, { turn: 9 }).find()).readyAt).toBeUndefined();
  expect((await open(100, 10, { turn: 10 }).find()).readyAt).toBe(10);
});

test('passes over tasks whose key is full, and reads the row of each key once', async () => {
  const queue = open(300, 0, { keyOf: (n) => (n < 200 ? 'stuck' : 'free'), full: ['stuck'] });

  expect((await queue.find()).readyAt).toBe(200);
  expect(queue.keysRead()).toBe(2);
});

test('reads the rows of a hundred keys, and counts the tasks of other keys', async () => {
  const full = Array.from({ length: 200 }, (_, n) => `key ${n}`);
  const queue = open(200, 0, { keyOf: (n) => `key ${n}`, full });

  expect((await queue.find()).readyAt).toBe(100);
  expect(queue.keysRead()).toBe(100);
});
