import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../../../shared/core/errors.ts';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import type { ReadyTask, RunningTask, TaskRecord } from '../../../shared/tasks/task/task.ts';
import { WORKER_DIED } from '../../../shared/tasks/task/task.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { claimed, enqueued, newTask, stamp } from '../../support/tasks.ts';
import { whenAborted } from '../../support/when-aborted.ts';

const ERROR = { name: 'Error', message: 'boom', at: 1 };
const noop = defineTask({ name: 'work', run: () => undefined });

describeOnStore('operating on tasks', (open) => {
  let q: QueueUnderTest;

  beforeEach(() => {
    q = openQueue(open());
  });

  /** A task that runs under a session that never was, so dead for everybody. */
  const abandoned = () => claimed(q.tasks, 'dead', { queue: q.queue });
  const dead = async (): Promise<TaskRecord> => {
    const task = await abandoned();
    await q.tasks.discard(claimOf(task), ERROR, stamp());
    return task;
  };
  const get = (id: string) => q.tasks.get({ queue: q.queue, id });

  describe('cancel', () => {
    test('ends a waiting task at once', async () => {
      const { id } = await q.client.enqueue(noop, {}, { delay: '1h' });

      expect(await q.operator.cancel(id, { reason: 'not wanted' })).toEqual({ kind: 'cancelled' });
      expect(await get(id)).toMatchObject({ state: 'cancelled', cancellation: { reason: 'not wanted' } });
    });

    test('reaches a running task by its signal, within a heartbeat', async () => {
      const started = Promise.withResolvers<undefined>();
      const work = defineTask({
        name: 'work',
        async run(_: unknown, { signal }) {
          started.resolve(undefined);
          await whenAborted(signal);
          throw signal.reason;
        },
      });
      const { id } = await q.client.enqueue(work, {});
      const working = q.work({ work });
      await started.promise;

      expect(await q.operator.cancel(id)).toMatchObject({ kind: 'requested' });

      expect((await working).settled).toMatchObject({ cancelled: 1, retried: 0 });
      expect(await get(id)).toMatchObject({ state: 'cancelled', attempts: 1 });
    });

    test('lets code that completes in spite of it win', async () => {
      const started = Promise.withResolvers<undefined>();
      const work = defineTask({
        name: 'work',
        async run(_: unknown, task) {
          started.resolve(undefined);
          await whenAborted(task.signal);
          return task.commit({ late: true });
        },
      });
      const { id } = await q.client.enqueue(work, {});
      const working = q.work({ work });
      await started.promise;
      await q.operator.cancel(id);
      await working;

      expect(await get(id)).toMatchObject({ state: 'done', result: { late: true } });
    });

    test('ends a task whose holder is dead, at once', async () => {
      const { id } = await abandoned();

      expect(await q.operator.cancel(id)).toEqual({ kind: 'cancelled' });
    });

    test('holds for the next attempt when the running one ends first: its code is not called', async () => {
      await using session = await q.session();
      const task = await claimed(q.tasks, session.id, { queue: q.queue });
      await q.operator.cancel(task.id);
      await q.tasks.release(claimOf(task), stamp());
      let calls = 0;

      const report = await q.work({ noop: defineTask({ name: 'work', run: () => ++calls }) });

      expect(report.settled.cancelled).toBe(1);
      expect(calls).toBe(0);
    });

    test('does not affect other work that reuses the id', async () => {
      const observed = await enqueued(q.tasks, { queue: q.queue });
      await q.tasks.replace(observed, newTask({ queue: q.queue, id: observed.id }), stamp());

      expect((await q.tasks.cancel(observed, { at: 1, reason: 'late' }, stamp())).kind).toBe('refused');
      expect(await get(observed.id)).toMatchObject({ state: 'ready' });
    });

    test('leaves an ended task as it is, and reports how it ended', async () => {
      const { id } = await dead();

      expect(await q.operator.cancel(id)).toEqual({ kind: 'ended', state: 'dead' });
      expect(await q.operator.cancel('nobody')).toEqual({ kind: 'missing' });
    });
  });

  describe('expiry', () => {
    test('drops a task that was not started in time', async () => {
      const { id } = await enqueued(q.tasks, { queue: q.queue, expiresAt: q.runtime.clock.now() - 1 });

      const report = await q.work({ noop });

      expect(report).toMatchObject({ expired: 1, claimed: 0 });
      expect(await get(id)).toMatchObject({
        state: 'cancelled',
        cancellation: { reason: 'not started before it expired' },
      });
    });

    test('does not affect other work that reuses the id', async () => {
      const expired = { queue: q.queue, expiresAt: q.runtime.clock.now() - 1 };
      const observed = await enqueued(q.tasks, expired);
      await q.tasks.replace(observed, newTask({ ...expired, id: observed.id }), stamp());

      expect((await q.tasks.expire(observed, stamp())).kind).toBe('refused');
      expect(await get(observed.id)).toMatchObject({ state: 'ready' });
    });

    test('is over with the first start: a retry does not expire', async () => {
      const task = await claimed(q.tasks, 's', { queue: q.queue, expiresAt: q.runtime.clock.now() + 60_000 });
      await q.tasks.release(claimOf(task), stamp());

      expect(await get(task.id)).toMatchObject({ state: 'ready', expiresAt: undefined });
    });

    test('refuses a claim that comes too late, though it was observed in time', async () => {
      const task = await enqueued(q.tasks, { queue: q.queue, expiresAt: 1_000 });

      expect((await q.tasks.claim(task, 's', stamp())).kind).toBe('refused');
    });

    test('cannot lie before the time the task is due', async () => {
      await expect(
        q.client.enqueue(noop, {}, { delay: '2h', expires: new Date(q.runtime.clock.now() + 1_000) }),
      ).rejects.toThrow(ConfigurationError);
    });
  });

  describe('retry', () => {
    test('brings a dead task back with all its attempts, and its counter goes on', async () => {
      const before = await dead();

      expect(await q.operator.retry(before.id)).toMatchObject({ kind: 'retried' });

      const after = await get(before.id);
      expect(after).toMatchObject({ state: 'ready', attempts: 0, generation: 1, lastError: ERROR });
      expect(after?.leaseCounter).toBe(before.leaseCounter);
      expect((await q.work({ noop })).settled.done).toBe(1);
      expect((await get(before.id))?.leaseCounter).toBe(before.leaseCounter + 1);
    });

    test.each([
      ['failed', (task: RunningTask) => q.tasks.discard(claimOf(task), ERROR, stamp()), 'Error: boom'],
      [
        'died',
        (task: RunningTask) => q.tasks.markDead(task, { ...ERROR, name: WORKER_DIED }, stamp()),
        'WorkerDied: boom',
      ],
      ['cancelled', (task: RunningTask) => q.tasks.giveUp(claimOf(task), 'not wanted', stamp()), undefined],
    ] as const)('keeps the last attempt in the history: %s', async (how, end, error) => {
      const task = await abandoned();
      await end(task);

      await q.operator.retry(task.id);

      const { leaseCounter, session, claimedAt } = task;
      expect((await get(task.id))?.past).toMatchObject([{ leaseCounter, session, claimedAt, how, error }]);
    });

    test('refuses a task that is not dead, or does not exist', async () => {
      const { id } = await q.client.enqueue(noop, {});

      expect(await q.operator.retry(id)).toEqual({ kind: 'unfit', state: 'ready' });
      expect(await q.operator.retry('nobody')).toEqual({ kind: 'missing' });
    });

    test('finds each dead task once, in every part of the list', async () => {
      await Promise.all(Array.from({ length: 9 }, dead));

      expect(await q.operator.retryAll()).toBe(9);
      expect(await q.operator.retryAll()).toBe(0);
      expect((await q.work({ noop })).settled.done).toBe(9);
    });

    test('takes only the chosen tasks, up to the limit', async () => {
      const [chosen] = await Promise.all(Array.from({ length: 3 }, dead));

      expect(await q.operator.retryAll({ choose: ({ id }) => id === chosen?.id })).toBe(1);
      expect(await q.operator.retryAll({ limit: 1 })).toBe(1);
      await expect(q.operator.retryAll({ limit: 0 })).rejects.toThrow(ConfigurationError);
    });
  });

  describe('reschedule', () => {
    test('gives a waiting task another priority and time', async () => {
      const { id } = await q.client.enqueue(noop, {}, { delay: '1h', priority: 'low' });

      await q.operator.reschedule(id, { priority: 'high', delay: new Date(1e12) });

      const { hints } = await readyAt('high');
      expect(hints).toMatchObject([{ id, readyAt: 1e12 }]);
    });

    test('refuses a task that runs, and a change of nothing', async () => {
      const { id } = await abandoned();

      expect(await q.operator.reschedule(id, { priority: 'high' })).toEqual({ kind: 'unfit', state: 'running' });
      expect(() => q.operator.reschedule(id, {})).toThrow(ConfigurationError);
      expect(() => q.operator.reschedule(id, { priority: 'urgent' as 'high' })).toThrow(
        'must be one of high, normal, low',
      );
    });

    const readyAt = async (priority: 'high') => {
      const pages = await Promise.all(
        [0, 1].map((shard) => q.tasks.page({ queue: q.queue, priority, shard }, { now: 1e12, limit: 5 })),
      );
      return { hints: pages.flatMap(({ hints }) => hints) };
    };
  });

  describe('history', () => {
    test('says who had a task, under which counter, and how it ended', async () => {
      const first = await claimed(q.tasks, 's1', { queue: q.queue });
      await q.tasks.retry(claimOf(first), { error: ERROR, readyAt: 0 }, stamp());
      const ready = await get(first.id);
      if (ready?.state !== 'ready') throw new Error('not ready');
      const second = await q.tasks.claim(ready, 's2', stamp());
      if (second.kind !== 'applied') throw new Error('refused');
      await q.tasks.takeOver(second.row, 's3', stamp());

      expect((await get(first.id))?.past).toMatchObject([
        {
          leaseCounter: first.leaseCounter,
          session: 's1',
          how: 'failed',
          error: 'Error: boom',
          claimedAt: first.claimedAt,
        },
        { leaseCounter: first.leaseCounter + 1, session: 's2', how: 'died' },
      ]);
    });

    test('is bounded: the oldest attempts give way', async () => {
      const task = await abandoned();
      let current = task;
      for (let attempt = 0; attempt < 6; attempt++) {
        const outcome = await q.tasks.takeOver(current, `s${attempt}`, stamp());
        if (outcome.kind === 'applied') current = outcome.row;
      }

      expect((await get(task.id))?.past.map(({ session }) => session)).toEqual(['s1', 's2', 's3', 's4']);
    });

    test('costs nothing unless something goes wrong', async () => {
      await q.client.enqueue(noop, {});
      const failing = defineTask({ name: 'failing', run: () => Promise.reject(new DoNotRetry('no')) });
      await q.client.enqueue(failing, {});
      await q.work({ noop, failing });

      expect(q.units()).toMatchObject({ 'task.enqueue': 4, 'task.claim': 2, 'task.complete': 2 });
    });
  });

  describe('pause', () => {
    test('stops claims until the queue is resumed, then runs the tasks enqueued in between', async () => {
      await q.operator.pause({ reason: 'maintenance' });
      const { id } = await q.client.enqueue(noop, {});

      expect(await q.work({ noop })).toMatchObject({ ended: 'paused', claimed: 0 });
      expect(await q.queues.get(q.queue)).toMatchObject({ isPaused: true, reason: 'maintenance' });

      await q.operator.resume();
      expect(await q.work({ noop })).toMatchObject({ ended: 'drained', claimed: 1 });
      expect(await get(id)).toMatchObject({ state: 'done' });
    });

    test('does not affect other queues', async () => {
      await q.operator.pause({ queue: 'another' });
      await q.client.enqueue(noop, {});

      expect((await q.work({ noop })).settled.done).toBe(1);
    });
  });

  describe('cancelling by selection', () => {
    const later = { delay: '1h' } as const;

    test('ends what waits of a tenant, also in a line, for children and under a holder, and nothing else', async () => {
      await using session = await q.session({ heartbeatMs: 1_000 });
      const acme = { tenant: 'acme' };
      await q.client.enqueue(noop, {}, { id: 'running', ...acme });
      await q.tasks.claim((await get('running')) as ReadyTask, session.id, stamp());
      await q.client.enqueue(noop, {}, { id: 'running', ...acme, onDuplicate: 'replace' });
      for (const nth of [1, 2, 3])
        await q.client.enqueue(noop, {}, { id: `l${nth}`, key: 'k', ordered: true, ...acme, ...later });
      const children = [1, 2].map((nth) => spawn(noop, {}, { id: `c${nth}`, ...acme, ...later }));
      await q.client.enqueueBatch(children, { id: 'b', then: spawn(noop, {}, acme) });
      await q.client.enqueue(noop, {}, { id: 'bolt', tenant: 'bolt', ...later });
      await q.client.enqueue(noop, {}, { id: 'none', ...later });
      const progress: number[] = [];

      const cancelling = q.operator.cancelAll({
        ...acme,
        reason: 'erased',
        onProgress: (count) => void progress.push(count),
      });
      // Its holder ends it at the next heartbeat, and its follower comes up.
      await vi.waitFor(async () => expect(await get('running')).toMatchObject({ cancellation: { reason: 'erased' } }));
      await q.tasks.giveUp(claimOf((await get('running')) as RunningTask), 'erased', stamp());

      expect(await cancelling).toEqual({ cancelled: 7, requested: 1, left: 0 });
      for (const id of ['running', 'l1', 'l2', 'l3', 'c1', 'c2', 'b/then'])
        expect(await get(id), id).toMatchObject({ state: 'cancelled', attempts: 0 });
      for (const id of ['bolt', 'none']) expect(await get(id)).toMatchObject({ state: 'ready' });
      expect(progress).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(await q.operator.cancelAll(acme)).toEqual({ cancelled: 0, requested: 0, left: 0 });
    });

    test('takes a key, a name and a batch, and refuses everything', async () => {
      await q.client.enqueue('other', {}, { id: 'a', key: 'k', limit: 2, ...later });
      await q.client.enqueue(noop, {}, { id: 'b', key: 'k', limit: 2, ...later });

      expect(await q.operator.cancelAll({ key: 'k', name: 'other' })).toEqual({ cancelled: 1, requested: 0, left: 0 });
      expect(await get('b')).toMatchObject({ state: 'ready' });
      expect(() => q.operator.cancelAll({})).toThrow('nothing is selected');
    });

    test('takes the children of a parent and theirs, on request', async () => {
      const grandchild = spawn('later', {}, { id: 'grandchild', ...later });
      const child = defineTask({ name: 'child', run: (_, task) => task.waitFor([grandchild]) });
      const parent = defineTask({
        name: 'parent',
        run: (_, task) => task.waitFor([spawn(child, null, { id: 'child' })]),
      });
      await q.client.enqueue(parent, null, { id: 'parent' });
      await q.work({ parent, child });

      expect(await q.operator.cancel('parent', { children: true })).toEqual({
        kind: 'cancelled',
        children: { cancelled: 2, requested: 0, left: 0 },
      });
      for (const id of ['parent', 'child', 'grandchild']) expect(await get(id)).toMatchObject({ state: 'cancelled' });
    });
  });

  test('units: cancel and expire 2, reschedule and retry 3, ask a holder 4, the death of a task 3, pause 2', async (context) => {
    context.skip(open().engine === 'dynamodb-local', 'it charges transactions as if they were none');
    await using session = await q.session({ heartbeatMs: 1_000 });
    await q.operator.pause();
    const waiting = await q.client.enqueue(noop, {}, { delay: '1h' });
    await q.operator.reschedule(waiting.id, { delay: '0s' });
    await q.operator.cancel(waiting.id);
    await q.tasks.expire(await enqueued(q.tasks, { queue: q.queue, expiresAt: 1 }), stamp());
    await q.operator.retry((await dead()).id);
    await q.operator.cancel((await claimed(q.tasks, session.id, { queue: q.queue })).id);

    expect(q.units()).toMatchObject({
      'task.reschedule': 3,
      'task.cancel': 2,
      'task.expire': 2,
      'task.discard': 3,
      'task.revive': 3,
      'task.requestCancel': 4,
      'queue.change': 2,
    });
  });
});
