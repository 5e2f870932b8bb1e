/** A request with `replace` or `debounce` for an id that runs: one follower, in the running task's own row. */
import { beforeEach, expect, test } from 'vitest';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { childrenBatch } from '../../../shared/tasks/task/batch.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { ReadyTask, RunningTask } from '../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { numbered, stamp } from '../../support/tasks.ts';

const ERROR = { name: 'Error', message: 'boom', at: 1 };
const LARGE = 'x'.repeat(40_000);

describeOnStore('what follows a running task', (open) => {
  let q: QueueUnderTest;
  let seen: unknown[];

  beforeEach(() => {
    q = openQueue(open());
    seen = [];
  });

  const see = defineTask({ name: 'see', run: (input: unknown) => void seen.push(input) });
  const ask = (input: unknown, options: EnqueueOptions = {}) =>
    q.client.enqueue('see', input, { id: 'doc', onDuplicate: 'replace', ...options });
  const get = () => q.tasks.get({ queue: q.queue, id: 'doc' });
  const claim = async (session = 'somebody'): Promise<RunningTask> => {
    const task = await get();
    if (task?.state !== 'ready') throw new Error('not ready');
    const outcome = await q.tasks.claim(task, session, stamp());
    if (outcome.kind !== 'applied') throw new Error('refused');
    return outcome.row;
  };

  test('keeps the id, stays a single task for any number of requests, and takes the newest input', async () => {
    await using session = await q.session();
    await ask({ n: 1 });
    const running = await claim(session.id);

    const first = await ask({ n: 2 });
    const others = [await ask({ n: 3 }), await ask({ n: 4 })];

    expect(first).toEqual({ id: 'doc', queue: q.queue, created: true, replaced: false, follows: true });
    expect(others).toMatchObject(others.map(() => ({ id: 'doc', created: false, replaced: true, follows: true })));
    expect(await get()).toMatchObject({ state: 'running', input: { n: 1 }, leaseCounter: running.leaseCounter });
    expect((await q.work({ see })).settled.done).toBe(0);
    await q.tasks.complete(claimOf(running), { ok: 1 }, stamp());
    expect((await q.work({ see })).settled.done).toBe(1);
    expect(seen).toEqual([{ n: 4 }]);
    expect(await get()).toMatchObject({ state: 'done', input: { n: 4 }, generation: 1 });
  });

  test('stays a single task for concurrent requests', async () => {
    await ask({ n: 1 });
    const running = await claim();
    const asked = await Promise.all([2, 3, 4].map((n) => ask({ n })));
    expect(asked.filter(({ created }) => created)).toHaveLength(1);
    await q.tasks.complete(claimOf(running), undefined, stamp());

    expect((await q.work({ see })).settled.done).toBe(1);
  });

  test.each([
    ['done', (task: RunningTask) => q.tasks.complete(claimOf(task), null, stamp())],
    ['failed', (task: RunningTask) => q.tasks.discard(claimOf(task), ERROR, stamp())],
    [
      'failed',
      (task: RunningTask) =>
        q.tasks.retry(claimOf(task), { error: ERROR, readyAt: q.runtime.clock.now() + 1e9 }, stamp()),
    ],
    ['released', (task: RunningTask) => q.tasks.release(claimOf(task), stamp())],
    ['snoozed', (task: RunningTask) => q.tasks.snooze(claimOf(task), q.runtime.clock.now() + 1e9, stamp())],
    ['snoozed', (task: RunningTask) => q.tasks.waitForChildren(claimOf(task), 'doc/1', [], numbered(2))],
    ['cancelled', (task: RunningTask) => q.tasks.giveUp(claimOf(task), 'not wanted', stamp())],
    ['cancelled', (task: RunningTask) => q.tasks.cancel(task, { at: 1, reason: 'not wanted' }, stamp())],
    ['died', (task: RunningTask) => q.tasks.markDead(task, ERROR, stamp())],
    ['done', (task: RunningTask) => q.tasks.commit(claimOf(task), null, [], numbered(2))],
  ] as const)('takes the task over by the very write with which its attempt ends: %s', async (how, end) => {
    await ask({ n: 1 }, { maxAttempts: 3, expires: '1h', key: 'k' });
    const running = await claim();
    await q.tasks.progress(claimOf(running), { step: 1 }, { ...stamp(), sequence: 1 });
    await ask({ n: 2 }, { priority: 'high', timeout: '1m' });

    expect(await end(running)).toMatchObject({ kind: 'applied', isFollowed: true });

    const task = await get();
    expect(task).toMatchObject({ state: 'ready', input: { n: 2 }, priority: 'high', policy: { timeoutMs: 60_000 } });
    expect(task).toMatchObject({ attempts: 0, deaths: 0, generation: 1, progress: undefined, lastError: undefined });
    expect(task).toMatchObject({
      cancellation: undefined,
      children: undefined,
      links: undefined,
      expiresAt: undefined,
    });
    expect(task?.follower).toBeUndefined();
    expect(task?.past).toMatchObject([{ leaseCounter: running.leaseCounter, how }]);
    expect((await q.work({ see })).settled.done).toBe(1);
    expect(seen).toEqual([{ n: 2 }]);
  });

  test('is due at its own time, and each request postpones a debounced one', async () => {
    await ask({ n: 1 });
    const running = await claim();
    const debounced = { onDuplicate: 'debounce', delay: '1h' } as const;
    await ask({ n: 2 }, debounced);
    await ask({ n: 3 }, { ...debounced, delay: '2h' });
    await q.tasks.complete(claimOf(running), undefined, stamp());

    expect((await q.work({ see })).settled.done).toBe(0);
    const task = await get();
    expect(task?.state === 'ready' && task.readyAt - q.runtime.clock.now()).toBeGreaterThan(3_600_000);
    expect(await ask({ n: 4 })).toMatchObject({ replaced: true, follows: false });
    await q.work({ see });
    expect(seen).toEqual([{ n: 4 }]);
  });

  test("survives a worker's death: the next attempt runs the first input, and then the follower starts", async () => {
    await ask({ n: 1 });
    const dead = await claim();
    await ask({ n: 2 });

    expect((await q.work({ see })).settled.done).toBe(2);
    expect(dead.state).toBe('running');
    expect(seen).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test('goes with the writes and children of a commit, and its batch waits for it', async () => {
    const twice = defineTask({
      name: 'see',
      async run(input: { readonly n: number }, task) {
        seen.push(input);
        if (input.n > 1) return undefined;
        await ask({ n: 2 });
        const Item = { pk: `own#${q.queue}`, sk: 'own' };
        return task.commit(null, [{ Put: { TableName: q.table, Item } }], { spawn: [spawn('child', null)] });
      },
    });
    const child = defineTask({ name: 'child', run: () => undefined });
    await q.client.enqueueBatch([spawn(twice, { n: 1 }, { id: 'doc' })], { id: 'b', then: spawn(child, null) });

    expect((await q.work({ twice, child })).settled.done).toBe(4);
    expect(seen).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await q.client.getBatch('b')).toMatchObject({ pending: 0, done: 1 });
  });

  test('stores its large input next to the running one, and removes each after its task ends', async () => {
    await ask({ n: 1, LARGE });
    const running = await claim();
    await ask({ n: 2, LARGE });
    await ask({ n: 3, LARGE });
    expect(JSON.parse((await q.tasks.getPayload(running)) ?? '')).toMatchObject({ n: 1 });
    await q.tasks.release(claimOf(running), stamp());

    await q.work({ see });

    expect(seen).toEqual([{ n: 3, LARGE }]);
    const task = await get();
    expect(task?.payload).toBeDefined();
    expect(task && (await q.tasks.getPayload(task))).toBeUndefined();
  });

  test('has the result that is waited for under the id', async () => {
    const result = defineTask({
      name: 'see',
      async run(input: { readonly n: number }) {
        if (input.n === 1) await ask({ n: 2 });
        return input;
      },
    });
    await ask({ n: 1 });
    const waiting = q.client.result('doc', { wait: '1m' });
    await q.work({ result });

    expect(await waiting).toMatchObject({ kind: 'done', result: { n: 2 } });
  });

  test('follows a parent that waits for its children, which ends what it has begun', async () => {
    await ask({ n: 1 });
    const running = await claim();
    const child = await q.client.validate('see', { child: 1 }, { id: 'doc/a' });
    const batch = childrenBatch(running);
    const waits = () => q.tasks.waitForChildren(claimOf(running), batch, [{ ...child, links: { batch } }], numbered(1));
    expect(await waits()).toMatchObject({ kind: 'applied' });

    expect(await ask({ n: 2 })).toMatchObject({ created: true, follows: true });
    expect(await ask({ n: 3 })).toMatchObject({ created: false, replaced: true, follows: true });
    expect(await get()).toMatchObject({ state: 'ready', input: { n: 1 }, runId: 'doc' });
    await q.work({ see });

    expect(seen).toEqual([{ child: 1 }, { n: 1 }, { n: 3 }]);
    expect(await get()).toMatchObject({ state: 'done', input: { n: 3 }, runId: 'doc~2', children: undefined });
  });

  test('takes over from a parent that is cancelled while it waits', async () => {
    await ask({ n: 1 });
    const running = await claim();
    const child = await q.client.validate('see', { child: 1 }, { id: 'doc/a', delay: '1h' });
    const batch = childrenBatch(running);
    await q.tasks.waitForChildren(claimOf(running), batch, [{ ...child, links: { batch } }], numbered(1));
    const observed = (await get()) as ReadyTask;
    await ask({ n: 2 });

    // A cancel of the parent as it was before must not end the request that follows it.
    expect((await q.tasks.cancel(observed, { at: 1, reason: 'late' }, stamp())).kind).toBe('refused');
    expect(await q.operator.cancel('doc')).toEqual({ kind: 'cancelled' });

    expect(await get()).toMatchObject({ state: 'ready', input: { n: 2 }, runId: 'doc~2', follower: undefined });
    await q.work({ see });
    expect(seen).toEqual([{ n: 2 }]);
  });
});
