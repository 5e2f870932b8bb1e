/** The small enqueuer reads little of a row that has its id, and must judge it as the whole client does. */
import { describe, expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import type { EdgeConnection } from '../../../../shared/client/edge/edge-connection.ts';
import { enqueuer, getTask } from '../../../../shared/client/edge/enqueuer.ts';
import { CorruptItemError } from '../../../../shared/core/errors.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/task/task-request.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { openMemoryQueue, QUEUE } from '../../../support/memory-queue.ts';

interface World extends MemoryQueue {
  readonly driver: DynamoDriver;
  readonly connection: EdgeConnection;
}

function openWorld(): World {
  let driver: DynamoDriver | undefined;
  const q = openMemoryQueue((opened) => (driver = opened));
  if (driver === undefined) throw new Error('a queue without a driver');
  const { table, runtime } = q;
  const sender = new Sender({ driver, runtime });
  const connection = { table, queue: QUEUE, shards: 1, maxClockSkewMs: 0, gauge: noSkewGauge, runtime, sender };
  return { ...q, driver, connection };
}

const LARGE = 'x'.repeat(20_000);

/** Rows of each kind: a completed task, a dead one, and waiting ones. */
async function fill(world: World): Promise<void> {
  const { client } = world;
  const small = { n: 1 };
  await client.enqueue('ship', small, { id: 'done' });
  await client.enqueue('sink', small, { id: 'dead', maxAttempts: 1 });
  await world.work({
    ship: defineTask({ name: 'ship', run: () => 'shipped' }),
    sink: defineTask({ name: 'sink', run: () => Promise.reject(new Error('leaks')) }),
  });
  await client.enqueue('ship', small, { id: 'ready' });
  await client.enqueue('ship', LARGE, { id: 'large' });
  await client.enqueue('ship', small, { id: 'tenant', tenant: 'a' });
  await client.enqueue('ship', small, { id: 'line', key: 'k', ordered: true });
  await client.enqueueBatch([spawn('ship', small)], { id: 'batch' });
}

const ROWS: readonly string[] = [...['done', 'dead', 'ready', 'large', 'tenant', 'line', 'batch/0', 'new']];

const REQUESTS: readonly (readonly [what: string, name: string, input: unknown, options?: EnqueueOptions])[] = [
  ['the same', 'ship', { n: 1 }],
  ['its parts in another order', 'ship', { n: 1, m: undefined }],
  ['another input', 'ship', { n: 2 }],
  ['another name', 'sink', { n: 1 }],
  ['a large input', 'ship', LARGE],
  ['another large input', 'ship', `${LARGE}y`],
  ['a tenant', 'ship', { n: 1 }, { tenant: 'a' }],
  ['another tenant', 'ship', { n: 1 }, { tenant: 'b' }],
];

describe('an enqueuer', () => {
  test('judges a task that has the id as createLeasehold does', async () => {
    const judged = async (whose: 'small' | 'whole'): Promise<Record<string, unknown>> => {
      const verdicts: Record<string, unknown> = {};
      for (const [what, name, input, options] of REQUESTS) {
        // Each in a separate table, because a request may add a task.
        const world = openWorld();
        await fill(world);
        const { enqueue } = whose === 'small' ? bound(enqueuer(world.connection)) : bound(world.client);
        for (const id of ROWS)
          verdicts[`${what} as ${id}`] = await enqueue(name, input, { ...options, id }).catch(String);
      }
      return verdicts;
    };

    const verdicts = await judged('small');

    expect(verdicts).toEqual(await judged('whole'));
    const kept = Object.keys(verdicts).filter((key) => (verdicts[key] as { created?: boolean }).created === false);
    expect(kept).toEqual([
      ...['done', 'ready', 'batch/0'].map((id) => `the same as ${id}`),
      ...['done', 'ready', 'batch/0'].map((id) => `its parts in another order as ${id}`),
      'another name as dead',
      'a large input as large',
      'a tenant as tenant',
    ]);
  });

  test('throws for damage in the attributes that it reads, and leaves the row unchanged', async () => {
    const world = openWorld();
    await world.client.enqueue('ship', { n: 1 }, { id: 'a' });
    const damage = {
      TableName: world.table,
      Key: { pk: `task#${QUEUE}#a`, sk: 'task' },
      UpdateExpression: 'SET #input = :input',
      ExpressionAttributeNames: { '#input': 'input' },
      ExpressionAttributeValues: { ':input': 'no JSON' },
    };
    await world.driver.attempt('update', damage, new AbortController().signal);
    const before = await world.read(damage.Key);

    await expect(enqueuer(world.connection).enqueue('ship', { n: 1 }, { id: 'a' })).rejects.toThrow(CorruptItemError);
    await expect(getTask(world.connection, 'a')).rejects.toThrow(CorruptItemError);
    expect(await world.read(damage.Key)).toEqual(before);
  });
});

function bound(client: Pick<ReturnType<typeof enqueuer>, 'enqueue'>) {
  return { enqueue: (name: string, input: unknown, options: EnqueueOptions) => client.enqueue(name, input, options) };
}
