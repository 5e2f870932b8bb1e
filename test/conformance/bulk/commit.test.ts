import { beforeEach, describe, expect, test } from 'vitest';
import { itemId } from '../../../shared/tasks/task/pack.ts';
import { CommitRefusedError } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import type { BulkUnderTest } from '../../support/bulk.ts';
import { bulkOf } from '../../support/bulk.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnOneStore } from '../../support/stores.ts';
import { stamp } from '../../support/tasks.ts';

const noop = defineTask({ name: 'noop', run: () => undefined });

describeOnOneStore('committing items of a pack', (open) => {
  let q: QueueUnderTest;
  let b: BulkUnderTest;

  beforeEach(() => {
    q = openQueue(open());
    b = bulkOf(q, open());
  });

  describe('commit', () => {
    test("takes effect once per item, with the item's own writes", async () => {
      const work = defineTask({
        name: 'work',
        run: (n: number, task) => task.commit(undefined, [b.increment(String(n))]),
      });
      await q.client.enqueueBulk(work, [0, 1, 2], { id: 'b' });

      expect((await q.work({ work })).settled.done).toBe(3);
      expect(await Promise.all(['0', '1', '2'].map((name) => b.effectOf(name)))).toEqual([1, 1, 1]);
    });

    test('applies nothing if the user’s own condition fails, and the item still runs', async () => {
      const errors: unknown[] = [];
      const work = defineTask({
        name: 'work',
        async run(n: number, task) {
          const guarded = {
            Put: {
              TableName: q.table,
              Item: { pk: `x#${q.queue}`, sk: 'x' },
              ConditionExpression: 'attribute_exists(pk)',
            },
          };
          await task.commit(undefined, n === 1 ? [guarded] : []).catch((error: unknown) => errors.push(error));
        },
      });
      await q.client.enqueueBulk(work, [0, 1, 2], { id: 'b' });

      expect((await q.work({ work })).settled.done).toBe(3);
      expect(errors).toEqual([expect.any(CommitRefusedError)]);
    });

    test('creates other tasks with it', async () => {
      const work = defineTask({
        name: 'work',
        run: (n: number, task) =>
          task.commit(undefined, [], { spawn: [{ task: 'noop', input: n, options: { id: `child-${n}` } }] }),
      });
      await q.client.enqueueBulk(work, [0, 1], { id: 'b' });

      expect((await q.work({ work, noop })).settled.done).toBe(4);
      expect(await q.client.get('child-1', q.queue)).toMatchObject({ state: 'done', input: 1 });
    });
  });

  describe('a holder that was taken over', () => {
    const superseded = async () => {
      await q.client.enqueueBulk(noop, [0, 1, 2], { id: 'b' });
      const first = await b.claimed('b/0', 'zombie');
      await q.tasks.takeOver(first, 'heir', stamp());
      return claimOf(first);
    };
    const entry = { done: [0], results: undefined };

    test('can record, finish, commit and move nothing', async () => {
      const zombie = await superseded();
      const numbered = () => ({ ...stamp(), sequence: 1, previousSequence: 0 });
      const task = {
        queue: q.queue,
        id: itemId('b/0', 0),
        name: 'noop',
        input: 0,
        priority: 'normal' as const,
        runAt: 0,
      };
      const lastAttempt = {
        leaseCounter: zombie.leaseCounter,
        session: 'zombie',
        claimedAt: 0,
        endedAt: 0,
        how: 'failed' as const,
        error: undefined,
      };
      const moved = {
        index: 0,
        task,
        isDead: false,
        attempts: 1,
        deaths: 0,
        error: undefined,
        lastAttempt,
        isSuspect: false,
      };

      const outcomes = [
        await q.tasks.bulk.record(zombie, entry, numbered()),
        await q.tasks.bulk.finish(zombie, entry, numbered()),
        await q.tasks.bulk.commit(zombie, 0, entry, [b.increment('zombie')], numbered()),
        await q.tasks.bulk.move(zombie, moved, entry, numbered()),
      ];

      expect(outcomes.map(({ kind }) => kind)).toEqual(['refused', 'refused', 'refused', 'refused']);
      expect((await b.pack('b/0')).bulk).toMatchObject({ done: new Set(), moved: new Set() });
      expect(await b.effectOf('zombie')).toBeUndefined();
      expect(await q.tasks.get(task)).toBeUndefined();
    });

    test('loses its session’s items to the next holder, which runs only items that were not recorded', async () => {
      const zombie = await superseded();
      const running = await b.pack('b/0');
      if (running.state !== 'running') throw new Error('not running');
      await q.tasks.bulk.record(claimOf(running), entry, { ...stamp(), sequence: 1, previousSequence: 0 });
      const seen: number[] = [];
      const counting = defineTask({ name: 'noop', run: (n: number) => void seen.push(n) });

      // Concurrency 1: the leaving item becomes a task at once, and a second slot would take it before the pack continues.
      const report = await q.work({ counting }, { concurrency: 1 });

      expect(report).toMatchObject({ takenOver: 1, settled: { done: 2, retried: 1 } });
      // Two workers in a row died with it: its first open item goes its own way.
      expect(seen).toEqual([2, 1]);
      expect(await b.item('b/0/1')).toMatchObject({ state: 'done', task: { attempts: 3, past: [{ how: 'died' }] } });
      expect((await b.pack('b/0')).leaseCounter).toBe(zombie.leaseCounter + 2);
    });
  });

  describe('a commit of the same item twice', () => {
    test('is refused the second time, though the claim is current', async () => {
      await q.client.enqueueBulk(noop, [0, 1], { id: 'b' });
      const claim = claimOf(await b.claimed('b/0', 'me'));
      const commit = (sequence: number) =>
        q.tasks.bulk.commit(claim, 0, { done: [0, 1], results: undefined }, [b.increment('twice')], {
          ...stamp(),
          sequence,
          previousSequence: sequence - 1,
        });
      expect(await commit(1)).toMatchObject({ kind: 'applied' });

      expect(await commit(2)).toMatchObject({ kind: 'refused', current: { state: 'running', session: 'me' } });
      expect(await b.effectOf('twice')).toBe(1);
    });
  });
});
