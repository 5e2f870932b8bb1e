/** Operator actions on a task that waits for its children, or has waited for them. */
import { beforeEach, expect, test } from 'vitest';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { stamp } from '../../support/tasks.ts';

describeOnStore('a parent and its operator', (open) => {
  let q: QueueUnderTest;
  /** Names of the children that ran, in order. */
  let ran: string[];
  let seen: TaskContext['children'][];
  let isBroken: boolean;

  beforeEach(() => {
    q = openQueue(open());
    ran = [];
    seen = [];
    isBroken = false;
  });

  const child = defineTask({ name: 'child', run: (_: unknown, { id }) => void ran.push(id) });
  const parent = defineTask({
    name: 'parent',
    async run(_: unknown, task) {
      seen.push(task.children);
      if (task.children === undefined)
        return task.waitFor([spawn(child, {}, { id: 'p/a' }), spawn(child, {}, { id: 'p/b', delay: '1h' })]);
      if (isBroken) throw new DoNotRetry('phase two');
      return task.children.done + task.children.cancelled;
    },
  });
  const work = () => q.work({ parent, child });
  const get = (id = 'p') => q.tasks.get({ queue: q.queue, id });
  const claim = async (id: string) => {
    const task = await get(id);
    if (task?.state !== 'ready') throw new Error('not ready');
    const outcome = await q.tasks.claim(task, 'somebody', stamp());
    if (outcome.kind !== 'applied') throw new Error('refused');
    return outcome.row;
  };
  const endLast = async (id = 'p/b') => {
    await q.operator.reschedule(id, { delay: '0s' });
    await q.tasks.complete(claimOf(await claim(id)), undefined, stamp());
  };

  test("continues with its children's results when it is retried after they are done", async () => {
    isBroken = true;
    await q.client.enqueue(parent, {}, { id: 'p' });
    await work();
    await endLast();
    await work();
    expect(await get()).toMatchObject({ state: 'dead', lastError: { message: 'phase two' } });

    isBroken = false;
    await q.operator.retry('p');
    await work();

    expect(await get()).toMatchObject({ state: 'done', result: 2 });
    expect(ran).toEqual(['p/a']);
  });

  test('cancelled and retried while its children are open, waits for them again', async () => {
    await q.client.enqueue(parent, {}, { id: 'p' });
    await work();
    await q.operator.cancel('p');
    await q.operator.retry('p');
    await work();
    expect(seen).toEqual([undefined]);

    await endLast();
    await work();

    expect(seen).toMatchObject([undefined, { total: 2, done: 2, pending: 0 }]);
    expect(await get()).toMatchObject({ state: 'done', result: 2 });
  });

  test('cancelled, retried after its last child has ended, runs with what they came to', async () => {
    await q.client.enqueue(parent, {}, { id: 'p' });
    await work();
    await q.operator.cancel('p');
    await endLast();
    await q.operator.retry('p');
    await work();

    expect(await get()).toMatchObject({ state: 'done', result: 2 });
  });

  test('continues when it is retried together with other dead tasks', async () => {
    isBroken = true;
    await q.client.enqueue(parent, {}, { id: 'p' });
    await work();
    await endLast();
    await work();

    isBroken = false;
    expect(await q.operator.retryAll()).toBe(1);
    await work();

    expect(await get()).toMatchObject({ state: 'done', result: 2 });
  });

  test('is not brought forward while it waits, and the refusal says what for', async () => {
    await q.client.enqueue(parent, {}, { id: 'p' });
    await work();

    const report = await q.operator.reschedule('p', { delay: '0s' });

    expect(report).toMatchObject({ kind: 'waits', children: { total: 2, pending: 1 } });
    await work();
    expect(seen).toEqual([undefined]);
  });

  test('gets another priority while it waits', async () => {
    await q.client.enqueue(parent, {}, { id: 'p' });
    await work();

    expect(await q.operator.reschedule('p', { priority: 'high' })).toMatchObject({ kind: 'rescheduled' });
    await endLast();
    await work();

    expect(await get()).toMatchObject({ state: 'done', priority: 'high', result: 2 });
  });
});
