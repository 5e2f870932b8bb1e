import { beforeEach, describe, expect, test } from 'vitest';
import { HandedBackError } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { stampOf } from '../../../shared/core/lease/stamp.ts';
import type { ReadyTask } from '../../../shared/tasks/task/task.ts';
import type { WorkerReport } from '../../../shared/tasks/worker/run-worker.ts';
import type { BulkUnderTest } from '../../support/bulk.ts';
import { bulkOf } from '../../support/bulk.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnOneStore } from '../../support/stores.ts';
import { whenAborted } from '../../support/when-aborted.ts';

const noop = defineTask({ name: 'noop', run: () => undefined });

/** A worker at pack `b/0` of three items: the first is done, and the second runs until its signal stops it. */
async function startPackWhoseSecondItemWaits(q: QueueUnderTest): Promise<{ readonly working: Promise<WorkerReport> }> {
  const started = Promise.withResolvers<undefined>();
  const work = defineTask({
    name: 'work',
    async run(n: number, { signal }) {
      if (n !== 1) return;
      started.resolve(undefined);
      await whenAborted(signal);
      throw signal.reason;
    },
  });
  await q.client.enqueueBulk(work, [0, 1, 2], { id: 'b' });
  const working = q.work({ work });
  await started.promise;
  return { working };
}

describeOnOneStore('stopping the items of a pack', (open) => {
  let q: QueueUnderTest;
  let b: BulkUnderTest;

  beforeEach(() => {
    q = openQueue(open());
    b = bulkOf(q, open());
  });

  describe('handing back', () => {
    test('keeps what is done, stops the item that runs, and refunds the attempt', async () => {
      const handBack = new AbortController();
      const seen: number[] = [];
      const work = defineTask({
        name: 'work',
        async run(n: number, { signal }) {
          seen.push(n);
          if (n !== 2 || seen.length > 3) return;
          handBack.abort(new HandedBackError('deadline near'));
          await whenAborted(signal);
          throw signal.reason;
        },
      });
      await q.client.enqueueBulk(work, [0, 1, 2, 3], { id: 'b' });

      const first = await q.work({ work }, { handBack: handBack.signal });

      expect(first).toMatchObject({ ended: 'handedBack', settled: { done: 2, released: 2 } });
      expect(await b.pack('b/0')).toMatchObject({ state: 'ready', attempts: 0, bulk: { done: new Set([0, 1]) } });
      expect((await q.work({ work })).settled.done).toBe(2);
      expect(seen).toEqual([0, 1, 2, 2, 3]);
    });
  });

  describe('cancelling', () => {
    test('one item of a pack that waits leaves the others', async () => {
      await q.client.enqueueBulk(noop, [0, 1, 2], { id: 'b' });

      expect(await q.operator.cancel('b/0/1')).toEqual({ kind: 'cancelled' });
      expect(await b.item('b/0/1')).toMatchObject({ state: 'cancelled' });
      expect(await q.operator.cancel('b/0/1')).toEqual({ kind: 'ended', state: 'cancelled' });
      expect((await q.work({ noop })).settled.done).toBe(2);
      expect(await b.item('b/0/1')).toMatchObject({ state: 'cancelled' });
      expect(await q.operator.cancel('b/0/0')).toEqual({ kind: 'ended', state: 'done' });
      expect(await q.operator.cancel('b/0/7')).toEqual({ kind: 'missing' });
      expect(await q.operator.cancel('b/7/0')).toEqual({ kind: 'missing' });
    });

    test('an item just before its pack is claimed is seen by the claim', async () => {
      await q.client.enqueueBulk(noop, [0, 1, 2], { id: 'b' });
      const observed = await b.pack('b/0');
      await q.operator.cancel('b/0/1');

      const claimed = await q.tasks.claim(observed as ReadyTask, 'me', stampOf(q.runtime));

      expect(claimed).toMatchObject({ kind: 'applied', row: { state: 'running', bulk: { cancelled: new Set([1]) } } });
    });

    test('the item that runs reaches it by its signal, and the others run', async () => {
      const { working } = await startPackWhoseSecondItemWaits(q);

      expect(await q.operator.cancel('b/0/1')).toMatchObject({ kind: 'requested' });

      expect((await working).settled).toMatchObject({ done: 2, cancelled: 1 });
      expect(await b.pack('b/0')).toMatchObject({ state: 'done', bulk: { cancelled: new Set([1]) } });
    });

    test('prevents an unstarted item from starting once the row has been written', async () => {
      const seen: number[] = [];
      const work = defineTask({
        name: 'work',
        bulk: { flushInterval: 0 },
        async run(n: number) {
          seen.push(n);
          if (n === 0) await q.operator.cancel('b/0/2');
        },
      });
      await q.client.enqueueBulk(work, [0, 1, 2, 3], { id: 'b' });

      await q.work({ work });

      expect(seen).toEqual([0, 1, 3]);
    });

    test('the pack cancels its open items', async () => {
      const { working } = await startPackWhoseSecondItemWaits(q);

      expect(await q.operator.cancel('b/0')).toMatchObject({ kind: 'requested' });

      expect((await working).settled).toMatchObject({ done: 1, cancelled: 2 });
      expect(await b.pack('b/0')).toMatchObject({ state: 'cancelled', bulk: { done: new Set([0]) } });
      expect(await b.item('b/0/2')).toMatchObject({ state: 'cancelled' });
      await q.operator.retry('b/0');
      const again = defineTask({ name: 'work', run: () => undefined });
      expect((await q.work({ again })).settled.done).toBe(2);
    });
  });
});
