import { beforeEach, expect, test } from 'vitest';
import { ConfigurationError, MismatchError } from '../../../shared/core/errors.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { stamp } from '../../support/tasks.ts';

const noop = defineTask({ name: 'work', run: () => undefined });

describeOnStore('the identity of a task', (open) => {
  let q: QueueUnderTest;

  beforeEach(() => {
    q = openQueue(open());
  });

  const ask = (n: number, options: EnqueueOptions = {}) => q.client.enqueue(noop, { n }, { id: 'user-7', ...options });
  const get = (id = 'user-7') => q.tasks.get({ queue: q.queue, id });
  const claim = async () => {
    const task = await get();
    if (task?.state !== 'ready') throw new Error('not ready');
    const outcome = await q.tasks.claim(task, 'somebody', stamp());
    if (outcome.kind !== 'applied') throw new Error('refused');
    return outcome.row;
  };

  test('identifies a task: the same input changes nothing, and another input is reported as a mismatch', async () => {
    expect(await ask(1)).toMatchObject({ created: true });
    expect(await ask(1)).toMatchObject({ created: false, replaced: false });
    await expect(ask(2)).rejects.toThrow(MismatchError);
    expect(await get()).toMatchObject({ input: { n: 1 } });
  });

  test.each<[string, EnqueueOptions, EnqueueOptions, string]>([
    ['another tenant', { tenant: 'acme' }, { tenant: 'bolt' }, 'another tenant, acme'],
    ['no tenant', { tenant: 'acme' }, {}, 'another tenant, acme'],
    ['another tenant, to replace it', {}, { tenant: 'bolt', onDuplicate: 'replace' }, 'no tenant'],
    ['another key', { key: 'a', limit: 2 }, { key: 'b', limit: 2 }, 'another key, a'],
    ['a key', {}, { key: 'b' }, 'no key'],
    ['order', { key: 'a' }, { key: 'a', ordered: true }, 'no order (ordered: false)'],
    ['no order', { key: 'a', ordered: true }, { key: 'a' }, 'an order (ordered: true)'],
  ])('names what differs: %s', async (_what, first, second, difference) => {
    await ask(1, first);

    await expect(ask(1, second)).rejects.toThrow(`exists already (ready) with ${difference}: use another id`);
  });

  test('is the same work with another limit, priority and timeout, and once it has ended with another key', async () => {
    await ask(1, { key: 'a', limit: 2, priority: 'low' });

    expect(await ask(1, { key: 'a', limit: 3, priority: 'high', timeout: '1m' })).toMatchObject({ created: false });
    expect(await get()).toMatchObject({ priority: 'low', links: { concurrency: { limit: 2 } }, policy: undefined });
    await q.work({ noop });
    expect(await ask(1, { key: 'b', ordered: true })).toMatchObject({ created: false });
  });

  test('is postponed by debounced requests until maxWait from the first, also as a follower', async () => {
    const wait = { onDuplicate: 'debounce', delay: '5m', maxWait: '6m' } as const;
    await ask(1, wait);
    const { createdAt } = (await get())!;
    await ask(2, { ...wait, delay: '6m' });
    expect(await get()).toMatchObject({ readyAt: createdAt + 360_000 });

    await q.operator.reschedule('user-7', { delay: '0s' });
    const running = await claim();
    await ask(3, wait);
    const { at } = (await get())!.follower!;
    await ask(4, { ...wait, delay: '6m' });
    expect((await get())!.follower).toMatchObject({ input: { n: 4 }, at, runAt: at + 360_000 });
    await q.tasks.complete(claimOf(running), null, stamp());
    expect(await get()).toMatchObject({ state: 'ready', input: { n: 4 }, createdAt: at });

    await expect(ask(5, { ...wait, maxWait: '4m' })).rejects.toThrow('shorter than delay');
    await expect(ask(5, { onDuplicate: 'replace', maxWait: '4m' })).rejects.toThrow(
      "requires onDuplicate = 'debounce'",
    );
  });

  test('keeps the first task with the policy keep', async () => {
    await ask(1);

    expect(await ask(2, { onDuplicate: 'keep' })).toMatchObject({ created: false });
    expect(await get()).toMatchObject({ input: { n: 1 } });
  });

  test("lets a follower's own policy come, change and go with the request", async () => {
    const waits = (options: EnqueueOptions) => ask(2, { onDuplicate: 'replace', ...options });
    await ask(1, { maxAttempts: 4, timeout: '1m' });
    expect(await get()).toMatchObject({ policy: { maxAttempts: 4, timeoutMs: 60_000 } });

    await waits({ timeout: '2m' });
    expect((await get())?.policy).toEqual({ timeoutMs: 120_000 });
    await waits({});
    expect((await get())?.policy).toBeUndefined();
    await waits({ maxAttempts: 2 });
    await q.work({ noop });
    expect(await get()).toMatchObject({ state: 'done', policy: { maxAttempts: 2 } });

    await ask(3, { window: 0 });
    expect(await get()).toMatchObject({ state: 'ready', policy: undefined });
    await q.work({ noop });
    await ask(4, { window: 0, maxAttempts: 7 });
    expect(await get()).toMatchObject({ state: 'ready', policy: { maxAttempts: 7 } });
  });

  test('reuses an ended task within its window, and creates a new one afterwards', async () => {
    await ask(1, { window: '1h' });
    await q.work({ noop });
    const before = await get();

    expect(await ask(1, { window: '1h' })).toMatchObject({ created: false });
    await expect(ask(2, { window: '1h' })).rejects.toThrow(MismatchError);
    expect(await ask(2, { window: 0 })).toMatchObject({ created: true });

    const after = await get();
    expect(after).toMatchObject({ state: 'ready', input: { n: 2 }, attempts: 0, generation: 1 });
    expect(after?.leaseCounter).toBe(before?.leaseCounter);
  });

  test.each(['replace', 'debounce'] as const)(
    'restarts an ended task within its window with the policy %s',
    async (onDuplicate) => {
      const again: EnqueueOptions = {
        onDuplicate,
        ...(onDuplicate === 'debounce' ? { delay: '1h' } : {}),
      };
      await ask(1, { window: '1h' });
      await q.work({ noop });

      expect(await ask(2, again)).toMatchObject({ created: true });
      expect(await get()).toMatchObject({ state: 'ready', input: { n: 2 } });
    },
  );

  test('starts over once when renewed concurrently', async () => {
    await ask(1);
    await q.work({ noop });

    const outcomes = await Promise.all(Array.from({ length: 6 }, () => ask(1, { window: 0 })));

    expect(outcomes.filter(({ created }) => created)).toHaveLength(1);
    expect(await get()).toMatchObject({ generation: 1 });
  });

  test('gives a waiting task the new input with the policy replace', async () => {
    await ask(1, { delay: '1h' });

    expect(await ask(2, { onDuplicate: 'replace', delay: '2h' })).toMatchObject({ created: false, replaced: true });
    expect(await get()).toMatchObject({ input: { n: 2 }, state: 'ready' });
  });

  test('delays the task with each request, and runs the last one’s input, with the policy debounce', async () => {
    await ask(1, { onDuplicate: 'debounce', delay: '10s' });
    const first = await get();
    await ask(2, { onDuplicate: 'debounce', delay: '60s' });
    const second = await get();

    expect(second).toMatchObject({ input: { n: 2 } });
    expect(second?.state === 'ready' && first?.state === 'ready' && second.readyAt > first.readyAt).toBe(true);
  });

  test.each([
    ['an unknown policy', { id: 'x', onDuplicate: 'never' }, 'must be one of reject, keep, replace, debounce'],
    ['a policy without an id', { onDuplicate: 'keep' }, 'require an id'],
    ['a window without an id', { window: '1m' }, 'require an id'],
    ['a negative window', { id: 'x', window: -1 }, 'window = -1'],
    ['debounce without a delay', { id: 'x', onDuplicate: 'debounce' }, 'requires a delay'],
    ['a negative delay', { delay: -1 }, 'delay = -1'],
  ])('refuses %s before anything is written', async (_what, options, message) => {
    const asking = q.client.enqueue(noop, {}, options as EnqueueOptions);

    await expect(asking).rejects.toThrow(ConfigurationError);
    await expect(asking).rejects.toThrow(message);
    expect(q.units()).toEqual({});
  });

  const EARLIER = new Date('2020-01-01T00:00:00Z');

  test('units: a duplicate 1, replacing 1 more, putting off 3 more, renewing 2 more', async () => {
    await ask(1, { delay: EARLIER });
    await ask(2, { onDuplicate: 'replace', delay: EARLIER });
    expect(q.units()).toMatchObject({ 'task.enqueue': 3, 'task.replace': 1 });

    await ask(3, { onDuplicate: 'replace', delay: new Date(EARLIER.getTime() + 1) });
    await q.work({ noop });
    await ask(4, { onDuplicate: 'replace' });
    expect(q.units()).toMatchObject({ 'task.enqueue': 5, 'task.replace': 4, 'task.renew': 2 });
  });
});
