import { beforeEach, describe, expect, test } from 'vitest';
import { ConfigurationError, MismatchError } from '../../../shared/core/errors.ts';
import { DoNotRetry, RetryAfter } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { BulkUnderTest } from '../../support/bulk.ts';
import { bulkOf } from '../../support/bulk.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnOneStore } from '../../support/stores.ts';
import { whenAborted } from '../../support/when-aborted.ts';

const noop = defineTask({ name: 'noop', run: () => undefined });

describeOnOneStore('tasks in bulk', (open) => {
  let q: QueueUnderTest;
  let b: BulkUnderTest;

  beforeEach(() => {
    q = openQueue(open());
    b = bulkOf(q, open());
  });

  describe('a pack', () => {
    test('claims a pack once for all its items, and runs them in order, each under its own name', async () => {
      const seen: unknown[] = [];
      const work = defineTask({
        name: 'work',
        run: (input: unknown, { id, attempt, progress }) => void seen.push({ input, id, attempt, progress }),
      });
      const bulk = await q.client.enqueueBulk(work, [{ n: 0 }, { n: 1 }, { n: 2 }], { id: 'b', packSize: 2 });
      expect(bulk).toMatchObject({ packs: 2, created: 2, items: ['b/0/0', 'b/0/1', 'b/1/0'] });

      const report = await q.work({ work }, { concurrency: 1 });

      expect(report).toMatchObject({ claimed: 2, settled: { done: 3 } });
      expect(seen).toHaveLength(3);
      expect(seen).toEqual(
        expect.arrayContaining(bulk.items.map((id, n) => ({ input: { n }, id, attempt: 1, progress: undefined }))),
      );
      expect(seen.findIndex((each) => (each as { id: string }).id === 'b/0/0')).toBeLessThan(
        seen.findIndex((each) => (each as { id: string }).id === 'b/0/1'),
      );
      expect(await b.pack('b/0')).toMatchObject({ state: 'done', attempts: 1 });
      expect(await b.item('b/1/0')).toMatchObject({ state: 'done', pack: 'b/1', index: 0, input: { n: 2 } });
      expect(await b.item('b/1/1')).toBeUndefined();
    });

    test('is not taken for that of another task with the same inputs', async () => {
      const enqueue = (name: string) => q.client.enqueueBulk(name, [1, 2], { id: 'b' });
      await enqueue('resize');

      expect(await enqueue('resize')).toMatchObject({ created: 0 });
      await expect(enqueue('crop')).rejects.toThrow(MismatchError);
    });

    test('costs one write for the claim and one for the end, for any number of items', async () => {
      const inputs = Array.from({ length: 16 }, (_, n) => ({
        bucket: 'photos-eu',
        key: `2026/11/21/IMG_${4000 + n}.jpg`,
      }));
      // No intermediate records, even if the items take long.
      const unhurried = defineTask({ name: 'noop', bulk: { flushInterval: '1h' }, run: () => undefined });
      await q.client.enqueueBulk(unhurried, inputs, { id: 'b' });

      await q.work({ unhurried });

      const { 'pack.enqueue': enqueue, 'task.claim': claim, 'pack.finish': finish, 'pack.record': record } = q.units();
      expect({ enqueue, claim, finish, record }).toEqual({ enqueue: 2, claim: 1, finish: 2, record: undefined });
    });

    test("keeps the items' results if its definition asks for them", async () => {
      const work = defineTask({ name: 'work', bulk: { keepResults: true }, run: (n: number) => ({ twice: 2 * n }) });
      await q.client.enqueueBulk(work, [1, 2, 3], { id: 'b' });

      await q.work({ work });

      expect((await b.pack('b/0')).bulk.results).toEqual({ 0: { twice: 2 }, 1: { twice: 4 }, 2: { twice: 6 } });
      expect(await b.item('b/0/2')).toMatchObject({ state: 'done', result: { twice: 6 } });
    });

    test('is created once for repeated requests, and refuses other inputs', async () => {
      await q.client.enqueueBulk(noop, [1, 2, 3], { id: 'b', packSize: 2 });

      expect(await q.client.enqueueBulk(noop, [1, 2, 3], { id: 'b', packSize: 2 })).toMatchObject({ created: 0 });
      await expect(q.client.enqueueBulk(noop, [1, 2, 4], { id: 'b', packSize: 2 })).rejects.toThrow(MismatchError);
      await expect(q.client.enqueueBulk(noop, [1, 2, 3], { id: 'b', packSize: 3 })).rejects.toThrow(MismatchError);
      await expect(q.client.enqueue(noop, [1, 2], { id: 'b/0' })).rejects.toThrow(MismatchError);
      const replacing = q.client.enqueue(noop, [1, 2], { id: 'b/0', onDuplicate: 'replace' });
      await expect(replacing).rejects.toThrow(MismatchError);
      expect((await q.work({ noop })).settled.done).toBe(3);
      expect(await q.client.enqueueBulk(noop, [1, 2, 3], { id: 'b', packSize: 2 })).toMatchObject({ created: 0 });
    });
  });

  describe('an item', () => {
    test('retries a failed item as a separate task, without delaying the others', async () => {
      const attempts: [number, number][] = [];
      const work = defineTask({
        name: 'work',
        run(n: number, { attempt }) {
          attempts.push([n, attempt]);
          if (n === 1 && attempt === 1) throw new RetryAfter(0, 'not yet');
        },
      });
      await q.client.enqueueBulk(work, [0, 1, 2], { id: 'b' });

      const report = await q.work({ work }, { concurrency: 1 });

      expect(report.settled).toMatchObject({ done: 3, retried: 1 });
      expect(attempts).toEqual([
        [0, 1],
        [1, 1],
        [2, 1],
        [1, 2],
      ]);
      expect(await b.item('b/0/1')).toMatchObject({ state: 'done', task: { attempts: 2, past: [{ how: 'failed' }] } });
      expect(await b.pack('b/0')).toMatchObject({ state: 'done' });
    });

    test('marks a failed item dead if it must not be retried, and an operator can retry it', async () => {
      let isBroken = true;
      const work = defineTask({
        name: 'work',
        run(n: number) {
          if (n === 1 && isBroken) throw new DoNotRetry('broken');
        },
      });
      await q.client.enqueueBulk(work, [0, 1, 2], { id: 'b' });
      expect((await q.work({ work })).settled).toMatchObject({ done: 2, dead: 1 });

      const dead = await Array.fromAsync(q.operator.dead());
      expect(dead).toMatchObject([{ id: 'b/0/1', input: 1, attempts: 1, lastError: { message: 'broken' } }]);
      isBroken = false;
      expect(await q.operator.retry('b/0/1')).toMatchObject({ kind: 'retried' });
      expect((await q.work({ work })).settled.done).toBe(1);
      expect(await b.item('b/0/1')).toMatchObject({ state: 'done' });
    });

    test('marks only the item dead whose input does not fit the schema', async () => {
      const schema = {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value: unknown) => (value === 1 ? { issues: [{ message: 'not 1' }] } : { value: value as number }),
        },
      } as const;
      const work = defineTask({ name: 'work', input: schema, run: () => undefined });
      await expect(q.client.enqueueBulk(work, [0, 1], { id: 'b' })).rejects.toThrow(ConfigurationError);
      await q.client.enqueueBulk('work', [0, 1, 2], { id: 'b' });

      expect((await q.work({ work })).settled).toMatchObject({ done: 2, dead: 1 });
      expect(await b.item('b/0/1')).toMatchObject({
        state: 'dead',
        task: { lastError: { name: 'InvalidInputError' } },
      });
    });

    test('snoozes as a separate task, without counting the attempt', async () => {
      const attempts: number[] = [];
      const work = defineTask({
        name: 'work',
        run(_: number, task) {
          attempts.push(task.attempt);
          return attempts.length === 1 ? task.snooze(0) : undefined;
        },
      });
      await q.client.enqueueBulk(work, [0], { id: 'b' });

      expect((await q.work({ work })).settled).toMatchObject({ done: 1, snoozed: 1 });
      expect(attempts).toEqual([1, 1]);
    });

    test('refuses to save progress or to wait for children, and gives the reason', async () => {
      const errors: unknown[] = [];
      const work = defineTask({
        name: 'work',
        async run(_: number, task) {
          await task.saveProgress({ half: true }).catch((error: unknown) => errors.push(error));
          await task.waitFor([{ task: 'noop', input: 1, options: {} }]).catch((error: unknown) => errors.push(error));
        },
      });
      await q.client.enqueueBulk(work, [0], { id: 'b' });

      expect((await q.work({ work })).settled.done).toBe(1);
      expect(errors).toHaveLength(2);
      for (const error of errors) expect(error).toBeInstanceOf(ConfigurationError);
      expect(String(errors[0])).toContain('b/0/0');
    });

    test('retries only the item that timed out', async () => {
      const work = defineTask({
        name: 'work',
        timeout: 30,
        retry: { maxAttempts: 1 },
        async run(n: number, { signal }) {
          if (n !== 1) return;
          await whenAborted(signal);
          throw signal.reason;
        },
      });
      await q.client.enqueueBulk(work, [0, 1, 2], { id: 'b' });

      expect((await q.work({ work })).settled).toMatchObject({ done: 2, dead: 1 });
      expect(await b.item('b/0/1')).toMatchObject({ state: 'dead', task: { lastError: { name: 'TaskTimeoutError' } } });
    });

    test('keeps the pack alive for an item whose id is taken, and completes the others', async () => {
      const work = defineTask({
        name: 'work',
        retry: { maxAttempts: 1 },
        run(n: number) {
          if (n === 0) throw new Error('boom');
        },
      });
      await q.client.enqueue(noop, 'somebody else', { id: 'b/0/0', delay: '1h' });
      await q.client.enqueueBulk(work, [0, 1, 2], { id: 'b' });

      expect((await q.work({ work })).settled).toMatchObject({ done: 2, dead: 1 });
      const { state, lastError, bulk } = await b.pack('b/0');
      expect({ state, done: [...bulk.done] }).toEqual({ state: 'dead', done: [1, 2] });
      expect(lastError?.message).toContain('another task has the id b/0/0');
    });
  });

  test('a pack of an unknown task waits for a worker that knows it, whole', async () => {
    const unknown = defineTask({ name: 'other', run: () => undefined });
    await q.client.enqueueBulk('nobody-knows', [0, 1], { id: 'b' });

    const { claimed, unknown: left } = await q.work({ unknown });

    expect({ claimed, isLeft: left > 0 }).toEqual({ claimed: 0, isLeft: true });
    const { state, attempts, bulk } = await b.pack('b/0');
    expect({ state, attempts, moved: bulk.moved.size }).toEqual({ state: 'ready', attempts: 0, moved: 0 });
  });

  test.each([
    ['no inputs', [], {}],
    ['a pack size of 0', [1], { packSize: 0 }],
    ['a pack size of 101', [1], { packSize: 101 }],
    ['a broken pack size', [1], { packSize: 1.5 }],
    ['an empty id', [1], { id: '' }],
    ['an id without room for its items', [1], { id: 'x'.repeat(510) }],
    ['a key', [1], { key: 'k' }],
    ['an input that JSON has no form for', [undefined], {}],
    ['an input beyond the limit', ['x'.repeat(20_000)], {}],
  ])('%s is refused before anything is written', async (_, inputs, options) => {
    await expect(q.client.enqueueBulk(noop, inputs, options as never)).rejects.toThrow(ConfigurationError);
    expect(q.units()).toEqual({});
  });
});
