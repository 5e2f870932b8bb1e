/** A batch whose producer was killed before it had added all of its children. */
import { expect, test } from 'vitest';
import { judgeBatches } from '../../../cli/doctor/batches.ts';
import type { QueueConnection } from '../../../cli/connection.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { ReadyTask, RunningTask } from '../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import { stampOf } from '../../../shared/core/lease/write.ts';
import { Story } from '../../support/story.ts';

const HOUR_MS = 3_600_000;

async function endOf({ there }: Story, id: string): Promise<void> {
  const { tasks } = there.ports;
  const ready = (await tasks.get({ queue: 'default', id })) as ReadyTask;
  await tasks.claim(ready, 'gone', stampOf(there.runtime));
  const running = (await tasks.get({ queue: 'default', id })) as RunningTask;
  await tasks.complete(claimOf(running), null, stampOf(there.runtime));
}

test.each([
  ['a callback', {}],
  ["a tenant's callback, behind pages of the tenant's other tasks,", { tenant: 'acme' }],
])('names %s whose batch has counted no end for an hour', async (_, options) => {
  const story = new Story();
  const { here, there, world } = story;
  const { tasks: store, queues } = there.ports;
  const judge = () =>
    judgeBatches({ queue: 'default', shards: 8, store, queues } as unknown as QueueConnection, world.clock);
  const children = [1, 2].map((n) => spawn('work', n, { id: `b/${n}` }));
  const batch = { id: 'b', then: spawn('after', null, options) };
  // The producer is killed after the batch, its callback and one child.
  const attempt = here.driver.attempt.bind(here.driver);
  let writes = 0;
  const killed = Promise.withResolvers<never>().promise;
  here.driver.attempt = (kind, input, signal) => (++writes > 2 ? killed : attempt(kind, input, signal));
  void here.leasehold.tasks.enqueueBatch(children, batch).catch(() => undefined);
  await world.clock.advance(1);
  // Delayed tasks stand before it in the index.
  await there.leasehold.tasks.enqueue('work', 3, { id: 'later', delay: '1d', ...options });
  const others = 'tenant' in options ? 1_000 : 0;
  for (let n = 0; n < others; n++) await there.leasehold.tasks.enqueue('work', n, { id: `other-${n}`, ...options });

  expect(await judge()).toMatchObject({ check: 'batches in default', health: 'ok' });
  await world.clock.advance(0.9 * HOUR_MS);
  await endOf(story, 'b/1');
  await world.clock.advance(0.9 * HOUR_MS);
  expect(await judge()).toMatchObject({ health: 'ok' });
  await world.clock.advance(0.2 * HOUR_MS);
  expect(await judge()).toMatchObject({
    health: 'warning',
    found: expect.stringContaining(
      'task b/then of queue default waits for 2 children, of which 1 has not ended',
    ) as unknown,
    remedy: expect.stringContaining('enqueueBatch again') as unknown,
  });

  await there.leasehold.tasks.enqueueBatch(children, batch);
  await endOf(story, 'b/2');
  expect(await judge()).toMatchObject({ health: 'ok' });
});

test('names a callback whose batch does not add up', async () => {
  const { here, there, world } = new Story();
  const { tasks: store, queues } = there.ports;
  await here.leasehold.tasks.enqueueBatch([spawn('work', 1), spawn('work', 2)], {
    id: 'b',
    then: spawn('after', null),
  });
  const Key = { pk: 'batch#default#b', sk: 'batch' };
  const never = new AbortController().signal;
  const { Item } = await here.driver.attempt('get', { TableName: 'leasehold', Key, ConsistentRead: true }, never);
  await here.driver.attempt('put', { TableName: 'leasehold', Item: { ...Item, pending: 1_000 } }, never);

  expect(
    await judgeBatches({ queue: 'default', shards: 8, store, queues } as unknown as QueueConnection, world.clock),
  ).toMatchObject({
    health: 'warning',
    found: expect.stringContaining('batch b of queue default counts 1000 pending of 2 children') as unknown,
    remedy: expect.stringContaining('retry or cancel it') as unknown,
  });
});
