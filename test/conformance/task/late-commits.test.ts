/** A copy of a refused commit arrives when its conditions are true: its caller has learned that it had no effect. */
import { beforeEach, expect, test } from 'vitest';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { CommitRefusedError } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { UserWrite } from '../../../shared/tasks/task/task-store.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import { taskKey } from '../../../shared/dynamo/engine/keys.ts';
import { Copies } from '../../support/copies.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import type { TestStore } from '../../support/stores.ts';
import { describeOnStore } from '../../support/stores.ts';

const child = defineTask({ name: 'child', run: () => undefined });
const NEVER = new AbortController().signal;

describeOnStore('a late copy of a refused commit', (open) => {
  let store: TestStore;
  let copies: Copies;
  let q: QueueUnderTest;
  let told: unknown;
  let applied: number;

  beforeEach(() => {
    store = open();
    copies = new Copies(store.driver);
    q = openQueue({ ...store, driver: copies });
    told = undefined;
    applied = -1;
  });

  /** A task whose first `ask` is refused; then `allow` makes its conditions true, and the copies arrive. */
  const refused = (ask: (task: TaskContext) => Promise<unknown>, allow: () => Promise<unknown>) =>
    defineTask({
      name: 'refused',
      run: async (isAsking: boolean, task) => {
        if (!isAsking) return;
        told = await ask(task).catch((error: unknown) => error);
        await allow();
        applied = await copies.arrive();
        return 'without';
      },
    });

  test('applies nothing', async () => {
    const work = refused((task) => task.commit('with', [sale()]), restock);
    await q.client.enqueue(work, true, { id: 'a' });
    await q.work({ work });

    expect(told).toBeInstanceOf(CommitRefusedError);
    expect(applied).toBe(0);
    expect(await stock()).toBe(1);
    expect(await q.client.get('a', q.queue)).toMatchObject({ state: 'done', result: 'without' });
  });

  test('applies nothing of a task that continues with its follower', async () => {
    const work = refused(async (task) => {
      await q.client.enqueue(child, null, { id: 'a', onDuplicate: 'replace' });
      return task.commit('with', [sale()]);
    }, restock);
    await q.client.enqueue(work, true, { id: 'a' });
    await q.work({ work, child });

    expect(told).toBeInstanceOf(CommitRefusedError);
    expect(applied).toBe(0);
    expect(await stock()).toBe(1);
  });

  test('does not make its task wait for children', async () => {
    const work = refused((task) => task.waitFor([spawn(child, null, { id: 'taken' })]), remove('taken'));
    await q.client.enqueue(child, null, { id: 'taken', delay: '1h' });
    await q.client.enqueue(work, true, { id: 'a' });
    await q.work({ work, child });

    expect(told).toBeInstanceOf(CommitRefusedError);
    expect(applied).toBe(0);
    expect(await q.client.get('a', q.queue)).toMatchObject({ state: 'done', result: 'without' });
    expect(await q.client.get('taken', q.queue)).toBeUndefined();
  });

  const key = () => ({ pk: `stock#${q.queue}`, sk: 'stock' });

  function sale(): UserWrite {
    return {
      Update: {
        TableName: q.table,
        Key: key(),
        UpdateExpression: 'ADD #stock :less',
        ConditionExpression: '#stock > :none',
        ExpressionAttributeNames: { '#stock': 'stock' },
        ExpressionAttributeValues: { ':less': -1, ':none': 0 },
      },
    };
  }

  function restock(): Promise<unknown> {
    return store.driver.attempt('put', { TableName: q.table, Item: { ...key(), stock: 1 } }, NEVER);
  }

  async function stock(): Promise<unknown> {
    const request = { TableName: q.table, Key: key(), ConsistentRead: true };
    return (await store.driver.attempt('get', request, NEVER)).Item?.stock;
  }

  function remove(id: string): () => Promise<unknown> {
    return () => store.driver.attempt('delete', { TableName: q.table, Key: { ...taskKey(q.queue, id) } }, NEVER);
  }
});
