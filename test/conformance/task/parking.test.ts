import { beforeEach, expect, test } from 'vitest';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import type { Priority, ReadyTask, RunningTask } from '../../../shared/tasks/task/task.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnEveryStore } from '../../support/stores.ts';
import { stamp } from '../../support/tasks.ts';

const KEY = 'customer-1';

function fail(error: unknown): never {
  throw error;
}

describeOnEveryStore('parked tasks', (open) => {
  let q: QueueUnderTest;

  beforeEach(() => {
    q = openQueue(open());
  });

  const enqueue = (id: string, options: EnqueueOptions = {}) =>
    q.client.enqueue('work', { id }, { id, key: KEY, limit: 1, ...options });
  const read = async (id: string) => (await q.tasks.get({ queue: q.queue, id })) as ReadyTask;
  const run = async (id: string): Promise<RunningTask> => {
    const outcome = await q.tasks.claim(await read(id), 'somebody', stamp());
    if (outcome.kind !== 'applied') throw new Error('refused');
    return outcome.row;
  };
  const parkThose = (tasks: readonly ReadyTask[], key = KEY) =>
    q.tasks.parking.park(
      tasks.map((task) => ({ task, write: stamp() })),
      key,
    );
  const park = async (...ids: string[]) => parkThose(await Promise.all(ids.map(read)));
  const putBack = async () => (await q.tasks.parking.putBack(q.queue, KEY, stamp())).map(({ id }) => id);
  const pageOf = async (priority: Priority, shard: number) =>
    (await q.tasks.page({ queue: q.queue, priority, shard }, { now: stamp().now, limit: 50 })).hints;
  const repair = (from: number) => q.tasks.parking.repairParked(q.queue, { ...stamp(), from, onDamaged: fail });
  const inSight = async (lane: 'page' | 'tenants' = 'page') => {
    const found = await Promise.all(
      (['high', 'normal', 'low'] as const).flatMap((priority) =>
        [0, 1].map(async (shard) => {
          if (lane === 'page') return pageOf(priority, shard);
          const { entries } = await q.tasks.pageOfTenants(
            { queue: q.queue, priority, shard },
            { after: ' ', limit: 50 },
          );
          return entries.map(({ hint }) => hint);
        }),
      ),
    );
    return found.flat().map(({ id }) => id);
  };

  test('are hidden from workers, and one becomes visible for each free slot', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await enqueue(id, { limit: 2 });
    const [a, b] = [await run('a'), await run('b')];

    expect(await park('c', 'd')).toEqual([]);
    expect((await inSight()).sort()).toEqual(['a', 'b']);
    expect(await read('c')).toMatchObject({ state: 'ready', isParked: true });
    expect(await putBack()).toEqual([]);

    await q.tasks.complete(claimOf(a), null, stamp());
    expect(await putBack()).toHaveLength(1);
    await q.tasks.complete(claimOf(b), null, stamp());
    expect((await inSight()).length).toBe(1);
  });

  test('come back in the order of their priorities, then of the times they were due', async () => {
    await enqueue('running');
    const running = await run('running');
    await enqueue('late', { runAt: stamp().now - 1_000 });
    await enqueue('early', { runAt: stamp().now - 9_000 });
    await enqueue('urgent', { priority: 'high' });
    await park('late', 'early', 'urgent');

    const order: string[] = [];
    for (let task: RunningTask | undefined = running; task !== undefined;) {
      await q.tasks.complete(claimOf(task), null, stamp());
      const [next] = await putBack();
      if (next !== undefined) order.push(next);
      task = next === undefined ? undefined : await run(next);
    }

    expect(order).toEqual(['urgent', 'early', 'late']);
  });

  test.each([
    // Two starts are left, and one task more stays in sight for the next window.
    { reserved: 0, back: 3 },
    { reserved: 1, back: 2 },
    { reserved: 2, back: 0 },
  ])(
    'become visible only for starts of their rate that no candidate needs: $reserved reserved',
    async ({ reserved, back }) => {
      const [started, waiting] = [
        ['a', 'b', 'c'],
        ['d', 'e', 'f', 'g'],
      ] as const;
      for (const id of [...started, ...waiting]) await enqueue(id, { limit: 3, rate: { count: 5, per: '30d' } });
      const running = [];
      for (const id of started) running.push(await run(id));
      await park(...waiting);
      for (const task of running) await q.tasks.complete(claimOf(task), null, stamp());

      expect(await q.tasks.parking.putBack(q.queue, KEY, { ...stamp(), reserved })).toHaveLength(back);
    },
  );

  test('do not wait when their key got room before they were parked', async () => {
    await enqueue('a');
    await enqueue('b');
    const a = await run('a');
    const observed = await read('b');
    await q.tasks.complete(claimOf(a), null, stamp());

    expect(await parkThose([observed])).toMatchObject([{ id: 'b', isParked: false }]);
    expect(await inSight()).toEqual(['b']);
  });

  test('are not claimed by a worker that saw them before', async () => {
    await enqueue('a');
    await enqueue('b');
    const a = await run('a');
    const observed = await read('b');
    await park('b');
    await q.tasks.complete(claimOf(a), null, stamp());

    expect((await q.tasks.claim(observed, 'somebody', stamp())).kind).toBe('refused');
  });

  test('does not park a task that was claimed or changed in the meantime', async () => {
    await enqueue('a');
    await enqueue('b', { key: 'another' });
    const [a, b] = [await read('a'), await read('b')];
    await run('a');
    await q.operator.reschedule('b', { priority: 'high' });

    await parkThose([a]);
    await parkThose([b], 'another');

    expect((await read('a')).state).toBe('running');
    expect((await read('b')).isParked).toBe(false);
  });

  test("returns tasks of a tenant to the tenant's partition", async () => {
    await enqueue('a', { tenant: 'acme' });
    await enqueue('b', { tenant: 'acme' });
    const a = await run('a');
    await park('b');
    expect(await inSight('tenants')).toEqual(['a']);
    await q.tasks.complete(claimOf(a), null, stamp());

    expect(await putBack()).toEqual(['b']);
    expect(await inSight('tenants')).toEqual(['b']);
    await q.tasks.complete(claimOf(await run('b')), null, stamp());
    expect(await inSight('tenants')).toEqual([]);
  });

  test.each([
    ['cancelled', (id: string) => q.operator.cancel(id)],
    // A second later, so that it has expired however fast the machine is.
    ['expired', async (id: string) => q.tasks.expire(await read(id), { ...stamp(), now: stamp().now + 1_000 })],
  ])('one that is %s is gone from everywhere', async (_how, end) => {
    await enqueue('a');
    await enqueue('b', { expiresIn: 1 });
    await run('a');
    await park('b');

    await end('b');

    expect(await read('b')).toMatchObject({ state: 'cancelled' });
    await expectGone('b');
  });

  test.each([
    ['rescheduled', (id: string) => q.operator.reschedule(id, { priority: 'high' })],
    ['replaced', (id: string) => enqueue(id, { onDuplicate: 'replace' })],
  ])('one that is %s is in sight again', async (_how, change) => {
    await enqueue('a');
    await enqueue('b');
    await enqueue('t', { tenant: 'acme' });
    await run('a');
    await park('b', 't');

    await change('b');
    if (_how === 'rescheduled') await change('t');
    else await enqueue('t', { tenant: 'acme', onDuplicate: 'replace' });

    expect(await read('b')).toMatchObject({ state: 'ready', isParked: false });
    expect((await inSight()).sort()).toEqual(['a', 'b']);
    expect(await inSight('tenants')).toEqual(['t']);
  });

  test('a writer that knows nothing of parking puts one into the place that it says, and nothing else', async () => {
    await enqueue('a');
    await enqueue('b');
    await enqueue('t', { tenant: 'acme' });
    const a = await run('a');
    await park('b', 't');
    for (const id of ['b', 't']) {
      const asItSeesIt = { ...(await read(id)), isParked: false };
      await q.operations.reschedule(asItSeesIt, { priority: 'low', runAt: stamp().now - 1 }, stamp());
    }
    await q.tasks.complete(claimOf(a), null, stamp());
    await repair(0);

    expect(await inSight()).toEqual(['b']);
    expect(await inSight('tenants')).toEqual(['t']);
    const low = await Promise.all([0, 1].map((shard) => pageOf('low', shard)));
    expect(low.flat().map(({ id }) => id)).toEqual(['b']);
    await q.tasks.complete(claimOf(await run('t')), null, stamp());
    await q.tasks.complete(claimOf(await run('b')), null, stamp());
    expect(await inSight()).toEqual([]);
  });

  test('lets a worker take over a task that was claimed while hidden', async () => {
    await enqueue('a');
    await enqueue('b');
    const a = await run('a');
    await park('b');
    await q.tasks.complete(claimOf(a), null, stamp());
    // This worker read the row before it was parked.
    const b = await run('b');
    expect(await inSight()).toEqual([]);

    await repair(0);

    expect(await inSight()).toEqual(['b']);
    await q.tasks.complete(claimOf(b), null, stamp());
    expect(await inSight()).toEqual([]);
  });

  test('finds overlooked tasks in a repair, for every key with capacity', async () => {
    const ends: RunningTask[] = [];
    for (let n = 0; n < 6; n++) {
      const key = `key-${n}`;
      await enqueue(`first-${n}`, { key });
      await enqueue(`second-${n}`, { key });
      ends.push(await run(`first-${n}`));
      await parkThose([await read(`second-${n}`)], key);
    }
    for (const task of ends.slice(0, 4)) await q.tasks.complete(claimOf(task), null, stamp());

    const back = await repair(0.5);

    expect(back.map(({ id }) => id).sort()).toEqual(['second-0', 'second-1', 'second-2', 'second-3']);
  });

  test('unblocks a key held up by a smaller limit of earlier tasks after a repair', async () => {
    await enqueue('running', { limit: 3 });
    await run('running');
    for (let n = 0; n < 6; n++) await enqueue(`narrow-${n}`, { limit: 1, priority: 'high' });
    await enqueue('wide', { limit: 3 });
    await park(...Array.from({ length: 6 }, (_, n) => `narrow-${n}`));
    const wide = await read('wide');
    const { concurrency: key } = wide.links ?? {};
    expect(key?.limit).toBe(3);
    // It was parked when the key had no room for it either.
    const others = [await enqueueAndRun('x'), await enqueueAndRun('y')];
    await park('wide');
    for (const task of others) await q.tasks.complete(claimOf(task), null, stamp());

    const back = await repair(0);

    expect(back.map(({ id }) => id)).toEqual(['wide']);
  });

  test('units: park 3, put back 3', async (context) => {
    context.skip(open().engine === 'dynamodb-local', 'it reports no units of indexes');
    await enqueue('a');
    await enqueue('b');
    const a = await run('a');
    await park('b');
    await q.tasks.complete(claimOf(a), null, stamp());
    await putBack();

    expect(q.units()).toMatchObject({ 'task.park': 3, 'task.putBack': 3 });
  });

  async function enqueueAndRun(id: string): Promise<RunningTask> {
    await enqueue(id, { limit: 3 });
    return run(id);
  }

  async function expectGone(id: string): Promise<void> {
    expect(await inSight()).not.toContain(id);
    expect(await putBack()).toEqual([]);
    expect(await repair(0)).toEqual([]);
  }
});
