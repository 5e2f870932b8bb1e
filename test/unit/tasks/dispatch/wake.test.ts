/** Wakes of a queue: which workers they start, and what they read for it. */
import { describe, expect, test } from 'vitest';
import { workersSemaphore } from '../../../../shared/tasks/dispatch/dispatcher.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { SemaphoreClient } from '../../../../shared/coordination/semaphore/semaphore-client.ts';
import { openWakerQueue, QUEUE, SETTINGS, TTL_MS } from '../../../support/waker-queue.ts';

describe('a wake of a queue', () => {
  test('starts as many as a tick would: a slot per task without a measured time', async () => {
    const q = openWakerQueue();
    const ids = await q.enqueue(15);

    expect(await q.waker.wake(ids)).toMatchObject({ started: 2, failedStarts: 0 });
    expect(q.started.map(({ queue }) => queue)).toEqual([QUEUE, QUEUE]);
  });

  test('starts a worker for a few tasks without a read of the backlog, if the row names their lane', async () => {
    const q = openWakerQueue();
    await q.hasRow();
    const [first = ''] = await q.enqueue(1);
    const costOfWake = (ids: readonly string[]) =>
      q.costOf(async () => {
        expect(await q.waker.wake(ids)).toMatchObject({ started: 1 });
      });
    const before = await costOfWake([first]);
    await q.runToEnd(first);
    await q.clock.advance(60_000);

    const after = await costOfWake(await q.enqueue(3));

    expect(before.reads).toBeGreaterThan(10);
    // The permits, three rows and the queue's row; then the permits again.
    expect(after.reads).toBeLessThanOrEqual(1 + 3 * 0.5 + 0.5 + 0.5);
  });

  test.each([
    [3_000, true],
    [20_000, undefined],
  ])('tells a lone worker whether to stay by the last start, %i ms before', async (ms, stays) => {
    const q = openWakerQueue();
    await q.hasRow();
    const [first = ''] = await q.enqueue(1);
    await q.waker.wake([first]);
    const worker = await q.worker();
    await q.runToEnd(first);
    await worker.leave();
    await q.clock.advance(ms);

    expect(await q.newWaker().wake(await q.enqueue(1))).toMatchObject({ started: 1 });
    expect(q.started.map((event) => event.stays)).toEqual([undefined, stays]);
  });

  test('starts no worker for delayed tasks, and reads only their rows', async () => {
    const q = openWakerQueue();
    const ids = await q.enqueue(4, 60_000);

    const cost = await q.costOf(async () => {
      expect(await q.waker.wake(ids)).toMatchObject({ started: 0, reason: 'nothingDue' });
    });

    // The permits at one unit, or half of it if there are none, and four rows at half a unit each.
    expect(cost.reads).toBeLessThanOrEqual(1 + 4 * 0.5);
    expect(cost.writes).toBe(0);
  });

  test('passes ids that the index does not show yet to the started worker', async () => {
    const q = openWakerQueue();
    q.lagBehind();
    const ids = await q.enqueue(2);

    expect(await q.waker.wake(ids)).toMatchObject({ started: 1 });
    const [{ tasks = [], ...event } = { queue: 'none', homeShards: [] }] = q.started;
    expect(event).toEqual({ queue: QUEUE, homeShards: [0, 1] });
    expect([...tasks].sort()).toEqual([...ids].sort());
  });

  test.each([
    ['the index', { index: true, rows: false }],
    ['the rows', { index: false, rows: true }],
    ['anything', { index: true, rows: true }],
  ])('starts a worker before %s can be read', async (_what, behind) => {
    const q = openWakerQueue();
    const ids = await q.enqueue(2);
    if (behind.index) q.lagBehind();
    if (behind.rows) q.missRows();

    expect(await q.waker.wake(ids)).toMatchObject({ started: 1 });
  });

  test('notes a task again after a long time, before the index shows that it is due', async () => {
    const q = openWakerQueue();
    q.lagBehind();
    const ids = await q.enqueue(1, 10_000);
    expect(await q.waker.wake(ids)).toMatchObject({ reason: 'nothingDue' });
    await q.clock.advance(10_001);

    expect(await q.waker.wake(ids)).toMatchObject({ started: 1 });
  });

  test('leaves tasks to a worker with enough slots, started by any waker, and starts more workers for further tasks', async () => {
    const q = openWakerQueue();
    await q.worker();

    expect(await q.newWaker().wake(await q.enqueue(10))).toMatchObject({ started: 0, reason: 'atWork' });
    expect(await q.newWaker().wake(await q.enqueue(10))).toMatchObject({ started: 1 });
  });

  test('leaves tasks to sufficient workers, for one read', async () => {
    const q = openWakerQueue();
    await q.hasRow();
    await q.worker();
    await q.clock.advance(2_000);
    await q.waker.wake(await q.enqueue(3));
    const ids = await q.enqueue(3);

    const cost = await q.costOf(async () => {
      expect(await q.waker.wake(ids)).toMatchObject({ started: 0, reason: 'atWork' });
    });

    expect(cost).toEqual({ reads: 1, writes: 0 });
  });

  test('names tasks that come one by one to a live worker, by the note in the row of the queue', async () => {
    const q = openWakerQueue();
    await q.hasRow();
    const [first = ''] = await q.enqueue(1);
    await q.waker.wake([first]);
    await q.worker();
    await q.clock.advance(3_000);
    const noted = async () => (await q.stores.queues.get(QUEUE))?.starts?.heard.flatMap(({ ids }) => ids);
    const two = await q.enqueue(2);

    expect(await q.waker.wake(two)).toMatchObject({ started: 0, reason: 'atWork' });
    expect(await noted()).toEqual([first, ...two]);

    await q.newWaker().wake(await q.enqueue(3));
    expect(await noted()).toEqual([first, ...two]);
  });

  test('starts one more worker for tasks that come one by one, if all slots are taken for long', async () => {
    const q = openWakerQueue();
    await q.hasRow();
    await q.worker();
    const hints = { tookMs: 6_000, unknownNames: [], announcedNames: [], workerSettings: SETTINGS };
    await q.stores.queues.noteHints(QUEUE, hints, { now: q.clock.now(), nonce: 'hints' });

    expect(await q.newWaker().wake((await q.enqueue(10)).slice(0, 1))).toMatchObject({ started: 0 });
    expect(await q.newWaker().wake(await q.enqueue(1))).toMatchObject({ started: 1 });
  });

  test('starts as many workers with four stream shards as with one, although no shard has all tasks', async () => {
    const q = openWakerQueue({ maxWorkers: 20 });
    await q.hasRow();
    q.lagBehind();
    const wakers = Array.from({ length: 4 }, () => q.newWaker());
    const bursts = await Promise.all(wakers.map(() => q.enqueue(8)));

    const first = await Promise.all(wakers.map((waker, nth) => waker.wake(bursts[nth] ?? [])));

    expect(first.map(({ started }) => started).reduce((sum, one) => sum + one)).toBe(4);
    for (const [nth, waker] of wakers.entries())
      expect(await waker.wake(bursts[nth] ?? [])).toMatchObject({ started: 0, reason: 'justStarted' });
    expect(await wakers[0]?.wake(await q.enqueue(8))).toMatchObject({ started: 0, reason: 'justStarted' });
    expect(await wakers[1]?.wake(await q.enqueue(1))).toMatchObject({ started: 1 });
  });

  test('counts what wakers of other shards have started, without having seen it before', async () => {
    const q = openWakerQueue();
    await q.hasRow();
    await q.newWaker().wake(await q.enqueue(1));

    expect(await q.newWaker().wake(await q.enqueue(1))).toMatchObject({ started: 0, reason: 'justStarted' });
    expect((await q.stores.queues.get(QUEUE))?.starts).toMatchObject({ count: 1, heard: [{ count: 1 }, { count: 1 }] });
  });

  test('counts tasks of a key that wakers of other shards have noted up to its limit', async () => {
    const q = openWakerQueue({ concurrency: 1 });
    await q.hasRow();
    const wakers = Array.from({ length: 4 }, () => q.newWaker());
    const ids = await Promise.all(wakers.map(() => q.enqueueOfKey({ limit: 1 })));

    // The index shows the first task of the key, as many as may run.
    for (const nth of [1, 2, 3, 0]) await wakers[nth]?.wake(ids.slice(nth, nth + 1));

    expect(q.started).toHaveLength(1);
  });

  test('counts a noted task that the index shows once, even after a slow stream', async () => {
    const q = openWakerQueue({ concurrency: 1 });
    await q.hasRow();
    const [late = '', next = ''] = await q.enqueue(2);
    await q.clock.advance(8_000);
    await q.newWaker().wake([late]);

    await q.newWaker().wake([next]);

    expect(q.started).toHaveLength(2);
  });

  test("does not mistake a task that it noted late for another shard's task", async () => {
    const q = openWakerQueue({ concurrency: 1 });
    await q.hasRow({ isPaused: true });
    const first = await q.enqueue(1);
    await q.waker.wake(first);
    await q.clock.advance(900);
    await q.hasRow();
    expect(await q.waker.wake(await q.enqueue(1))).toMatchObject({ started: 2 });
    await q.operator.cancel(first[0] ?? '');
    await q.clock.advance(300);

    expect(await q.waker.wake(await q.enqueue(1))).toMatchObject({ started: 0, reason: 'justStarted' });
  });

  test('reads the backlog again after half of startWithin, because other shards may have filled the workers', async () => {
    const q = openWakerQueue();
    await q.worker();
    expect(await q.waker.wake(await q.enqueue(1))).toMatchObject({ reason: 'atWork' });
    await q.enqueue(9);
    await q.clock.advance(5_000);

    expect(await q.waker.wake(await q.enqueue(1))).toMatchObject({ started: 1 });
  });

  test('starts workers in spite of permits of crashed workers', async () => {
    const q = openWakerQueue({ maxWorkers: 1 });
    const worker = await q.worker();
    await q.clock.advance(2_000);
    const ids = await q.enqueue(1);
    expect(await q.waker.wake(ids)).toMatchObject({ reason: 'full' });
    worker.kill();
    await q.clock.advance(TTL_MS + 2_000);

    expect(await q.waker.wake(ids)).toMatchObject({ started: 1 });
  });

  test.each([
    ['shows', false],
    ['does not show yet', true],
  ])('starts nothing for a paused tenant whose tasks the index %s', async (_, isBehind) => {
    const q = openWakerQueue({ concurrency: 1 });
    await q.operator.pause({ tenant: 'acme' });
    if (isBehind) q.lagBehind();
    const worker = await q.worker();
    const ids = await q.enqueue(20, 0, { tenant: 'acme' });

    expect(await q.waker.wake(ids)).toMatchObject({ started: 0 });
    await worker.leave();
    expect(await q.waker.wake(ids)).toMatchObject({ started: 0 });
    await q.clock.advance(2_000);
    expect(await q.waker.wake([...ids, ...(await q.enqueue(1))])).toMatchObject({ started: 1 });
  });

  test('reports how many starts failed, and does not throw', async () => {
    const q = openWakerQueue();
    const ids = await q.enqueue(1);
    const waker = q.newWaker(() => Promise.reject(new Error('throttled')));

    expect(await waker.wake(ids)).toMatchObject({ started: 0, failedStarts: 1 });
  });

  test('puts a changed `maxWorkers` into effect before it starts a worker that declares it', async () => {
    const q = openWakerQueue({ maxWorkers: 2 });
    await new SemaphoreClient({ ...q.stores, runtime: q.runtime, gauge: noSkewGauge }, SETTINGS).declareLimit(
      workersSemaphore(QUEUE),
      7,
    );

    await q.waker.wake(await q.enqueue(1));

    expect((await q.stores.semaphores.get(workersSemaphore(QUEUE)))?.declared).toBe(2);
  });
});

describe('a wake that loses its race with another waker', () => {
  /**
   * Six tasks need six workers. While it decides, some workers leave, another waker starts as many as are missing then,
   * and some of these take their permits.
   */
  test.each([
    // before, left, arrived
    [0, 0, 0],
    [0, 0, 1],
    [0, 0, 6],
    [2, 0, 0],
    [2, 0, 2],
    [2, 0, 4],
    [2, 1, 0],
    [2, 2, 3],
    [5, 0, 1],
    [5, 3, 1],
  ])('counts %i workers of before, of which %i left, and %i that came since', async (before, left, arrived) => {
    const q = openWakerQueue({ maxWorkers: 20, concurrency: 1 });
    await q.hasRow();
    const workers: Awaited<ReturnType<typeof q.worker>>[] = [];
    for (let n = 0; n < before; n++) workers.push(await q.worker());
    await q.clock.advance(2_001);
    const ids = await q.enqueue(6);
    let byOther = 0;
    q.beforeNote(async () => {
      for (const worker of workers.slice(0, left)) await worker.leave();
      byOther = (await q.newWaker().wake(ids)).started;
      for (let n = 0; n < arrived; n++) await q.worker();
    });

    const { started } = await q.waker.wake(ids);

    expect({ byOther, started }).toEqual({ byOther: 6 - before + left, started: 0 });
  });

  test.each([0, 1, 3])('starts what %i workers that came since lack', async (arrived) => {
    const q = openWakerQueue({ maxWorkers: 20, concurrency: 1 });
    await q.hasRow();
    await q.worker();
    await q.clock.advance(2_001);
    const first = await q.enqueue(4);
    const more = await q.enqueue(4);
    q.beforeNote(async () => {
      await q.newWaker().wake(first);
      for (let n = 0; n < arrived; n++) await q.worker();
    });

    await q.waker.wake([...first, ...more]);

    expect(q.started).toHaveLength(7);
  });
});
