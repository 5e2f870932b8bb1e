/** How many tasks of a line, and of a paused tenant, count as work. */
import { beforeEach, expect, test } from 'vitest';
import { readBacklog } from '../../../../shared/tasks/dispatch/dispatcher.ts';
import type { Planned } from '../../../../shared/tasks/dispatch/planning.ts';
import { plan } from '../../../../shared/tasks/dispatch/planning.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { QueueRecord } from '../../../../shared/tasks/task/queue-store.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { openMemoryQueue, QUEUE } from '../../../support/memory-queue.ts';

const SETTINGS = { queue: QUEUE, shards: 1, maxWorkers: 10, concurrency: 1, startWithinMs: 10_000, maxClockSkewMs: 0 };
const LATER_MS = 60_000;
let q: MemoryQueue;

beforeEach(() => {
  q = openMemoryQueue();
});

/** Each of another tenant. */
async function enqueue(ids: readonly string[], delayMs = 0): Promise<void> {
  for (const id of ids)
    await q.client.enqueue('task', {}, { id, key: 'line', ordered: true, tenant: id, delay: `${delayMs}ms` });
}

async function planned(record?: QueueRecord): Promise<Planned> {
  const noSessions = { getMany: () => Promise.resolve(new Map()) };
  const fail = (error: unknown): never => {
    throw error;
  };
  const ports = { tasks: q.tasks, sessions: noSessions, runtime: q.runtime, onDamaged: fail };
  const { pages, demand } = await readBacklog(record, ports, SETTINGS);
  const hints = pages.flatMap((page) => page.hints);
  const found = await plan({ demand, hints, rows: [], record, holders: [], starting: 0 }, ports, SETTINGS);
  return found.planned;
}

test('a line counts as one task, whatever its tenants', async () => {
  await enqueue(['a', 'b', 'c', 'd']);
  await q.client.enqueue('task', {}, { key: 'other', ordered: true });

  expect(await planned()).toMatchObject({ due: 2, wanted: 2 });
});

test('a line does not count until its first task is due', async () => {
  await enqueue(['first'], LATER_MS);
  await enqueue(['a', 'b']);

  expect(await planned()).toMatchObject({ due: 0, wanted: 0 });
  await q.clock.advance(LATER_MS);
  expect(await planned()).toMatchObject({ due: 1, wanted: 1 });
});

test('a line counts if a worker must pass the turn of a cancelled task', async () => {
  await enqueue(['first', 'cancelled', 'last']);
  const done: string[] = [];
  for (const id of ['cancelled', 'first']) {
    const task = await q.tasks.get({ queue: QUEUE, id });
    if (task?.state !== 'ready') throw new Error(`${id} does not wait`);
    await q.tasks.cancel(task, { at: q.clock.now(), reason: 'test' }, { now: q.clock.now(), nonce: id });
  }

  expect(await planned()).toMatchObject({ due: 1, wanted: 1 });
  await q.work({ task: defineTask({ name: 'task', run: (_, { id }) => void done.push(id) }) });
  expect(done).toEqual(['last']);
});

test('tasks of a paused tenant do not count', async () => {
  for (const tenant of ['acme', 'acme', 'beta']) await q.client.enqueue('task', {}, { tenant });

  expect(await planned(await q.operator.pause({ tenant: 'acme' }))).toMatchObject({ due: 1, wanted: 1 });
  expect(await planned(await q.operator.resume({ tenant: 'acme' }))).toMatchObject({ due: 3, wanted: 3 });
});
