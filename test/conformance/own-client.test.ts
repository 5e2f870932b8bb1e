/** The library over a client that a user brings: a lock, a task from enqueue to completion, and the middlewares. */
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { afterEach, expect, test, vi } from 'vitest';
import { semaphore } from '../../functions/middleware/semaphore.ts';
import { lock } from '../../functions/middleware/lock.ts';
import { createWorker } from '../../shared/client/create-worker.ts';
import type { Leasehold } from '../../shared/client/leasehold.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import { describeOnStore } from '../support/stores.ts';

const CONTEXT = { functionName: 'orders', logStreamName: 'stream', getRemainingTimeInMillis: () => 600_000 } as Context;

describeOnStore("a user's client", (open) => {
  afterEach(() => vi.unstubAllEnvs());

  test('holds locks and runs tasks, as a client and as a document client', async () => {
    const { client, table } = open();
    const documents = DynamoDBDocumentClient.from(client);
    using leasehold = createLeasehold({ client, table });
    await using session = await leasehold.session({ ttl: '10m' });
    await using _held = await session.lock('report', { value: 'of this test' });
    const double = defineTask({ name: 'double', run: ({ n }: { readonly n: number }) => 2 * n });

    await leasehold.tasks.enqueue(double, { n: 21 }, { id: 'one' });
    const totals = await createWorker({ double }, { client: documents, table, untilDrained: true }).run();

    expect(totals).toMatchObject({ done: 1 });
    expect(await leasehold.tasks.get('one')).toMatchObject({ state: 'done', result: 42 });
    expect(await leasehold.locks.get('report')).toMatchObject({ value: 'of this test' });
  });

  test('gives a handler its rights, all of one session', async () => {
    const { client, table } = open();
    vi.stubEnv('LEASEHOLD_TABLE', table);
    const account = lock({ client, key: 'account' });
    const vendor = semaphore({ client, semaphore: 'vendor', limit: 1 });
    using leasehold = createLeasehold({ client, table });
    const handler = middy(async (_event: unknown, context: Context) => {
      expect(account.of(context).signal.aborted || vendor.of(context).signal.aborted).toBe(false);
      const { inUse } = (await leasehold.semaphores.get('vendor')) ?? {};
      return { inUse, live: await liveSessions(leasehold) };
    })
      .use(account)
      .use(vendor);

    expect(await handler({}, CONTEXT)).toMatchObject({ inUse: 1, live: 1 });
    expect(await leasehold.semaphores.get('vendor')).toMatchObject({ inUse: 0 });
    expect(await liveSessions(leasehold)).toBe(0);
  });
});

async function liveSessions({ sessions }: Leasehold): Promise<number> {
  let live = 0;
  for await (const { status } of sessions.list()) if (status === 'live') live++;
  return live;
}
