/** The answer to a commit that its own condition refused, when requests or responses are lost, or a copy is faster than the bar. */
import { expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { barred } from '../../../../shared/tasks/run/bar.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { Copies } from '../../../support/copies.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { QUEUE, openMemoryQueue } from '../../../support/memory-queue.ts';

/** The first `count` transactions, or bars, never arrive, without an error. */
function losing(what: 'transaction' | 'bar', count: number): (driver: DynamoDriver) => DynamoDriver {
  let lost = 0;
  return (driver) => ({
    attempt(kind, input, signal) {
      const isBar = (input as { readonly UpdateExpression?: string }).UpdateExpression === BAR;
      const isHit = what === 'bar' ? isBar : kind === 'transactWrite';
      if (isHit && lost++ < count)
        return Promise.reject(new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' }));
      return driver.attempt(kind, input, signal);
    },
  });
}

const BAR = 'SET #sequence = :sequence, #nonce = :nonce';

/** A task's view of its refused commit. */
async function refusalOn(q: MemoryQueue, then: (task: TaskContext) => Promise<unknown> = async () => undefined) {
  let told: unknown;
  const commits = defineTask({
    name: 'commits',
    run: async (_: null, context) => {
      told = await context.commit('with', [missing(q)]).catch((error: unknown) => error);
      return then(context);
    },
  });
  await q.client.enqueue(commits, null, { id: 'a' });
  await q.work({ commits });
  return told;
}

const missing = (q: MemoryQueue, pk = 'x') => ({
  Update: {
    TableName: q.table,
    Key: { pk, sk: 'x' },
    UpdateExpression: 'SET #taken = :true',
    ConditionExpression: 'attribute_exists(pk)',
    ExpressionAttributeNames: { '#taken': 'taken' },
    ExpressionAttributeValues: { ':true': true },
  },
});

test('reports an unknown outcome when the bar gets no response', async () => {
  const q = openMemoryQueue(losing('bar', Infinity));

  expect(await refusalOn(q)).toMatchObject({ name: 'StoreUnavailableError', applied: 'unknown' });
});

test('reports an unknown outcome of an enqueue with writes when its bar gets no response', async () => {
  let isBroken = false;
  let isLost = false;
  const q = openMemoryQueue((driver) => ({
    attempt(kind, input, signal) {
      const isTask = JSON.stringify(input).includes('task#default#b');
      if (!isBroken || !isTask || (kind === 'transactWrite' && isLost)) return driver.attempt(kind, input, signal);
      isLost = true;
      return Promise.reject(new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' }));
    },
  }));
  let told: unknown;
  const asks = defineTask({
    name: 'asks',
    run: async () => {
      told = await q.client.enqueue('work', null, { id: 'b', writes: [missing(q)] }).catch((error: unknown) => error);
    },
  });
  await q.client.enqueue('asks', null, { id: 'a' });
  isBroken = true;
  await q.work({ asks });

  expect(told).toMatchObject({ name: 'StoreUnavailableError', applied: 'unknown' });
});

test('counts a copy that arrives before the bar as the commit', async () => {
  let copies: Copies | undefined;
  const q = openMemoryQueue((driver) => (copies = new Copies(driver)));
  const taken = { TableName: q.table, Item: { pk: 'x', sk: 'x' } };
  let isBarring = false;
  const commits = defineTask({
    name: 'commits',
    run: async (_: null, context) => {
      copies!.beforeWrite = async () => {
        isBarring = true;
        await copies!.attempt('put', taken, new AbortController().signal);
        expect(await copies!.arrive()).toBe(1);
      };
      return context.commit('with', [missing(q)]);
    },
  });
  await q.client.enqueue(commits, null, { id: 'a' });

  expect((await q.work({ commits }))?.settled).toMatchObject({ done: 1 });
  expect(isBarring).toBe(true);
  expect(await q.client.get('a', QUEUE)).toMatchObject({ state: 'done', result: 'with' });
  expect(await q.read({ pk: 'x', sk: 'x' })).toMatchObject({ taken: true });
});

test.each([
  ['done', 'done', false],
  ['done', 'ready', true],
  ['ready', 'running', true],
  ['ready', 'ready', false],
] as const)(
  'reports, of a copy that left its task %s, when the bar finds the task %s: isFollowed = %s',
  async (to, state, isFollowed) => {
    const q = openMemoryQueue();
    await q.client.enqueue('commits', null, { id: 'a' });
    const row = await q.tasks.get({ queue: QUEUE, id: 'a' });
    const current = { ...row!, state, nonce: 'of the commit' } as TaskRecord;
    const refused = { kind: 'canceled', reasons: [], earlierAttempt: 'none' } as const;

    const outcome = await barred(refused, { nonce: current.nonce, to }, () =>
      Promise.resolve({ kind: 'refused', current, earlierAttempt: 'none' }),
    );

    expect(outcome).toEqual({ kind: 'applied', isFollowed });
  },
);
