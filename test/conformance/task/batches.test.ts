import { beforeEach, describe, expect, test } from 'vitest';
import { ConfigurationError, MismatchError } from '../../../shared/core/errors.ts';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { numbered, stamp } from '../../support/tasks.ts';

const child = defineTask({ name: 'child', run: () => undefined });
const failing = defineTask({ name: 'failing', run: () => Promise.reject(new DoNotRetry('no')) });

describeOnStore('tasks that belong together', (open) => {
  let q: QueueUnderTest;

  beforeEach(() => {
    q = openQueue(open());
  });

  const get = (id: string) => q.tasks.get({ queue: q.queue, id });
  const claimOne = async (id: string, session = 'somebody') => {
    const task = await get(id);
    if (task?.state !== 'ready') throw new Error('not ready');
    const outcome = await q.tasks.claim(task, session, stamp());
    if (outcome.kind !== 'applied') throw new Error('refused');
    return outcome.row;
  };

  describe('spawning in commit', () => {
    test.each(['commit', 'wait'] as const)('refuses the %s if an id is taken, and names the task', async (how) => {
      const taken = [spawn(child, {}), spawn(child, { n: 2 }, { id: 'taken' })];
      const parent = defineTask({
        name: 'parent',
        retry: { maxAttempts: 1 },
        run: (_: unknown, task) => (how === 'wait' ? task.waitFor(taken) : task.commit(null, [], { spawn: taken })),
      });
      await q.client.enqueue(child, { n: 1 }, { id: 'taken', delay: '1h' });
      await q.client.enqueue(parent, {}, { id: 'parent' });
      await q.work({ parent, child });

      expect((await get('parent'))?.lastError).toMatchObject({
        name: 'CommitRefusedError',
        message: expect.stringContaining(`task taken of queue ${q.queue} exists already (ready)`) as string,
      });
    });
  });

  describe('a batch', () => {
    const callback = defineTask({ name: 'callback', run: () => undefined });
    const enqueueBatch = (children: number, id = 'b') =>
      q.client.enqueueBatch(
        Array.from({ length: children }, (_, n) => spawn(child, { n })),
        { id, then: spawn(callback, { batch: id }) },
      );

    test('creates its callback once, with the last child, and not before', async () => {
      const ranAfter: number[] = [];
      const counting = defineTask({
        name: 'callback',
        run: async () => {
          ranAfter.push((await q.client.getBatch('b'))?.pending ?? -1);
        },
      });
      await enqueueBatch(12);

      const report = await q.work({ child, counting }, { concurrency: 8 });

      expect(report.settled.done).toBe(13);
      expect(ranAfter).toEqual([0]);
      expect(await q.client.getBatch('b')).toMatchObject({ total: 12, pending: 0, done: 12, dead: 0 });
    });

    test('is not early: while one child runs, there is no callback', async () => {
      await using session = await q.session();
      await enqueueBatch(3);
      const last = await claimOne('b/0', session.id);
      await q.work({ child, callback });

      expect(await get('b/then')).toMatchObject({ attempts: 0 });
      await q.tasks.complete(claimOf(last), null, stamp());
      expect((await q.work({ child, callback })).settled.done).toBe(1);
      expect(await get('b/then')).toMatchObject({ state: 'done', input: { batch: 'b' } });
    });

    test('counts a child that is retried, taken over and completed once', async () => {
      await enqueueBatch(2);
      const first = await claimOne('b/0');
      const second = await q.tasks.takeOver(first, 'another', stamp());
      if (second.kind !== 'applied') throw new Error('refused');
      await q.tasks.retry(claimOf(second.row), { error: { name: 'E', message: '', at: 1 }, readyAt: 0 }, stamp());
      const third = await claimOne('b/0');
      await q.tasks.complete(claimOf(third), null, stamp());
      await q.tasks.complete(claimOf(first), null, stamp());

      expect(await q.client.getBatch('b')).toMatchObject({ pending: 1, done: 1 });
    });

    test('counts dead and cancelled children too; retrying one does not count it again', async () => {
      await q.client.enqueueBatch([spawn(failing, {}), spawn(child, {}, { delay: '1h' })], {
        id: 'b',
        then: spawn(callback, {}),
      });
      await q.work({ failing, child, callback });
      await q.operator.cancel('b/1');
      expect(await q.client.getBatch('b')).toMatchObject({ pending: 0, dead: 1, cancelled: 1 });
      expect(await get('b/then')).toMatchObject({ state: 'ready' });

      await q.operator.retry('b/0');
      await q.work({ failing, child, callback });
      expect(await q.client.getBatch('b')).toMatchObject({ pending: 0, dead: 1, cancelled: 1 });
    });

    test('enqueued again after a failure adds what is missing, and another batch under its id is a mismatch', async () => {
      await enqueueBatch(3);
      await q.work({ child, callback });

      expect(await enqueueBatch(3)).toMatchObject({ created: false });
      expect(await q.client.getBatch('b')).toMatchObject({ pending: 0, done: 3 });
      await expect(enqueueBatch(4)).rejects.toThrow(MismatchError);
    });

    test('does not adopt a task as its child that exists for another reason', async () => {
      await q.client.enqueue(child, {}, { id: 'mine' });

      await expect(q.client.enqueueBatch([spawn(child, {}, { id: 'mine' })], { id: 'b' })).rejects.toThrow(
        MismatchError,
      );
    });

    test("is refused if its callback's id is taken, and the error names both", async () => {
      await q.client.enqueue(callback, { other: true }, { id: 'published' });
      const then = spawn(callback, {}, { id: 'published' });

      const enqueuing = q.client.enqueueBatch([spawn(child, {})], { id: 'b', then });

      await expect(enqueuing).rejects.toThrow(MismatchError);
      await expect(enqueuing).rejects.toThrow(`task published of queue ${q.queue} exists already (ready)`);
      expect(await get('b/0')).toBeUndefined();
      expect(await q.client.getBatch('b')).toBeUndefined();
    });

    test('enqueued again with other work for its callback is a mismatch', async () => {
      const batchThen = (n: number) =>
        q.client.enqueueBatch([spawn(child, {})], { id: 'b', then: spawn(callback, { n }) });
      await batchThen(1);

      await expect(batchThen(2)).rejects.toThrow(MismatchError);
      expect(await batchThen(1)).toMatchObject({ created: false });
    });

    test('tells its callback how the children ended', async () => {
      const seen: TaskContext['children'][] = [];
      const counting = defineTask({ name: 'callback', run: (_: unknown, { children }) => void seen.push(children) });
      await q.client.enqueueBatch([spawn(failing, {}), spawn(child, {}), spawn(failing, {})], {
        id: 'b',
        then: spawn(counting, {}),
      });

      await q.work({ failing, child, counting });

      expect(seen).toMatchObject([{ total: 3, pending: 0, done: 1, dead: 2, cancelled: 0 }]);
    });

    test('runs its callback at once if it has no children, once, also if it is asked for again', async () => {
      const seen: TaskContext['children'][] = [];
      const counting = defineTask({ name: 'callback', run: (_: unknown, { children }) => void seen.push(children) });
      const then = spawn(counting, {}, { timeout: '1m', maxAttempts: 2 });
      const asked = [
        await q.client.enqueueBatch([], { id: 'b', then }),
        await q.client.enqueueBatch([], { id: 'b', then }),
      ];

      await q.work({ counting });

      expect(asked.map(({ created }) => created)).toEqual([true, false]);
      expect(seen).toMatchObject([{ total: 0, pending: 0 }]);
      expect(await get('b/then')).toMatchObject({ state: 'done', policy: { maxAttempts: 2, timeoutMs: 60_000 } });
      expect((await q.client.enqueueBatch([], { id: 'bare' })).created).toBe(true);
      expect(await q.client.getBatch('bare')).toMatchObject({ total: 0, pending: 0 });
    });

    test('has its callback from the start, which waits: cancelled and retried, it still comes after the last child', async () => {
      await enqueueBatch(2);
      await q.operator.cancel('b/then');
      await q.operator.retry('b/then');
      expect(await q.operator.reschedule('b/then', { delay: '0s' })).toMatchObject({ kind: 'waits' });

      expect((await q.work({ child, callback })).settled.done).toBe(3);
      expect(await get('b/then')).toMatchObject({ state: 'done' });
    });

    test('has a callback whose id no child may spawn', async () => {
      const spawning = defineTask({
        name: 'child',
        retry: { maxAttempts: 1 },
        run: (_: unknown, task) => task.commit(null, [], { spawn: [spawn(callback, {}, { id: 'b/then' })] }),
      });
      await enqueueBatch(1);

      expect((await q.work({ spawning, callback })).settled).toMatchObject({ done: 1, dead: 1 });
      expect(await get('b/then')).toMatchObject({ state: 'done', input: { batch: 'b' } });
    });

    test('keeps a callback with an unknown name for a worker that defines it', async () => {
      const impatient = { maxAttempts: 1 };
      await q.client.enqueueBatch([spawn(child, {})], { id: 'b', then: spawn('unknown', {}) });
      await q.work({ child: defineTask({ name: 'child', retry: impatient, run: () => undefined }) });

      const then = await get('b/then');
      expect(then).toMatchObject({ state: 'ready', attempts: 0, lastError: undefined });
    });

    test.each([
      [
        'two children of one id',
        () => q.client.enqueueBatch([spawn(child, {}, { id: 'x' }), spawn(child, {}, { id: 'x' })], { id: 'b' }),
        'the same id',
      ],
      [
        'a callback with the id of a child',
        () =>
          q.client.enqueueBatch([spawn(child, {}, { id: 'x' })], { id: 'b', then: spawn(callback, {}, { id: 'x' }) }),
        'its callback has the id of its child x',
      ],
      [
        'a callback at a time of its own',
        () => q.client.enqueueBatch([spawn(child, {})], { id: 'b', then: spawn(child, {}, { delay: '1h' }) }),
        'cannot have delay: it is due when the last child has ended',
      ],
      [
        'a callback in another queue',
        () => q.client.enqueueBatch([spawn(child, {})], { id: 'b', then: spawn(child, {}, { queue: 'other' }) }),
        "[spawn(task, input, { queue: 'other' })]",
      ],
      [
        'a child of another queue',
        () => q.client.enqueueBatch([spawn(child, {}, { queue: 'other' })], { id: 'b' }),
        'its child',
      ],
    ])('refuses %s before anything is written', async (_what, enqueue, message) => {
      await expect(enqueue()).rejects.toThrow(ConfigurationError);
      await expect(enqueue()).rejects.toThrow(message);
      expect(q.units()).toEqual({});
    });
  });

  describe('a parent', () => {
    const parentOf = (children: number, seen: TaskContext['children'][], of = child) =>
      defineTask({
        name: 'parent',
        async run(_: unknown, task) {
          seen.push(task.children);
          if (task.children === undefined)
            return task.waitFor(Array.from({ length: children }, (_each, n) => spawn(of, { n })));
          return task.children.done;
        },
      });

    test('waits for its children and finds how they ended, without spending an attempt', async () => {
      const seen: TaskContext['children'][] = [];
      await q.client.enqueue('parent', {}, { id: 'parent' });

      await q.work({ parent: parentOf(3, seen), child });

      expect(seen).toMatchObject([undefined, { total: 3, done: 3, pending: 0 }]);
      expect(await get('parent')).toMatchObject({ state: 'done', result: 3, attempts: 1 });
    });

    test('stays cancelled under its children, and keeps all of them', async () => {
      const seen: TaskContext['children'][] = [];
      const parent = parentOf(2, seen);
      const slow = new AbortController();
      await q.client.enqueue('parent', {}, { id: 'parent' });
      const task = await claimOne('parent');
      const children = [0, 1].map((n) => ({
        queue: q.queue,
        id: `c${n}`,
        name: 'child',
        input: null,
        priority: 'normal' as const,
        runAt: 0,
        links: { batch: 'kids' },
      }));
      await q.tasks.waitForChildren(claimOf(task), 'kids', children, numbered());

      expect(await q.operator.cancel('parent')).toEqual({ kind: 'cancelled' });
      const report = await q.work({ parent, child }, { handBack: slow.signal });

      expect(report.settled.done).toBe(2);
      expect(await get('parent')).toMatchObject({ state: 'cancelled' });
      expect(await q.client.getBatch('kids')).toMatchObject({ pending: 0, done: 2 });
    });
  });

  test('units: a batch 1, each child that ends 3 more than alone', async (context) => {
    context.skip(open().engine === 'dynamodb-local', 'it charges transactions as if they were none');
    await q.client.enqueueBatch([spawn(child, {}), spawn(child, {})], { id: 'b' });
    await q.tasks.complete(claimOf(await claimOne('b/0')), null, stamp());

    // The task's row twice, its index entry once, and the batch's row twice.
    expect(q.units()).toMatchObject({ 'batch.create': 1, 'task.enqueue': 4, 'task.claim': 1, 'task.complete': 5 });
  });
});
