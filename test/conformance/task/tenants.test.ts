import { beforeEach, describe, expect, test } from 'vitest';
import { ConfigurationError, MismatchError } from '../../../shared/core/errors.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { ReadyEntry } from '../../../shared/tasks/task/task-store.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import type { RunningTask } from '../../../shared/tasks/task/task.ts';
import { QUANTUM, GroupWalk } from '../../../shared/tasks/task/group-walk.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { STARTS_AT } from '../../support/coordination.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { Traffic, passTimeUntil } from '../../support/traffic.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { stamp } from '../../support/tasks.ts';

const ERROR = { name: 'Error', message: 'boom', at: 1 };

describeOnStore('fairness between tenants', (open) => {
  let q: QueueUnderTest;

  beforeEach(() => {
    q = openQueue(open());
  });

  const enqueue = (id: string, options: EnqueueOptions = {}) =>
    q.client.enqueue('work', { id }, { id, tenant: 'acme', ...options });
  const get = (id: string) => q.tasks.get({ queue: q.queue, id });
  const run = async (id: string): Promise<RunningTask> => {
    const task = await get(id);
    if (task?.state !== 'ready') throw new Error('not ready');
    const outcome = await q.tasks.claim(task, 'somebody', stamp());
    if (outcome.kind !== 'applied') throw new Error('refused');
    return outcome.row;
  };
  const entries = async (): Promise<readonly ReadyEntry[]> => {
    const pages = [0, 1].map((shard) =>
      q.tasks.pageOfGroups({ queue: q.queue, priority: 'normal', shard }, { after: ' ', limit: 50 }),
    );
    return (await Promise.all(pages)).flatMap((page) => page.entries.map(({ hint }) => hint));
  };

  test('serves the few tasks of twenty small tenants before the backlog of a big one', async () => {
    const order: string[] = [];
    const work = defineTask({
      name: 'work',
      run: ({ tenant }: { tenant: string }) => void order.push(tenant),
    });
    const requests = [
      ...Array.from({ length: 100 }, () => 'big'),
      ...Array.from({ length: 20 }, (_, n) => [`small-${n}`, `small-${n}`]).flat(),
    ];
    // The order is always the same: ids determine a task's shard, and no time passes while requests are in flight,
    // because rows read too long ago are read again, which gives the big tenant an extra turn.
    const [clock, traffic] = [new ManualClock(STARTS_AT), new Traffic(open().driver)];
    const timed = openQueue({ ...open(), driver: traffic }, { ...systemRuntime, clock, random: { next: () => 0.5 } });
    const tasks = requests.map((tenant, n) =>
      timed.client.validate(work, { tenant }, { tenant, id: `${tenant}/${n}` }),
    );
    await timed.client.enqueueAll(await Promise.all(tasks));

    // Concurrency 1: during a slow claim, other slots would start as many rounds as the machine allows.
    await passTimeUntil(timed.work({ work }, { concurrency: 1 }), { clock, traffic, stepMs: 10 });

    expect(order).toHaveLength(140);
    const lastSmall = order.findLastIndex((tenant) => tenant !== 'big');
    const bigBefore = order.slice(0, lastSmall).filter((tenant) => tenant === 'big').length;
    // In two shards a round takes a quantum of the big one each; a second round may have begun before the first was over everywhere.
    expect(bigBefore).toBeLessThanOrEqual(2 * QUANTUM * 3);
    expect(bigBefore).toBeGreaterThan(0);
  });

  test('runs tasks with and without a tenant', async () => {
    const work = defineTask({ name: 'work', run: () => undefined });
    for (let n = 0; n < 30; n++)
      await q.client.enqueue(work, { n }, n % 3 === 0 ? {} : { tenant: `t${n % 7}`, priority: n % 2 ? 'low' : 'high' });

    const reports = await Promise.all([q.work({ work }), q.work({ work })]);

    expect(reports.reduce((sum, { settled }) => sum + settled.done, 0)).toBe(30);
  });

  test('does not run delayed tasks, and they delay no other', async () => {
    const work = defineTask({ name: 'work', run: () => undefined });
    for (let n = 0; n < 60; n++) await enqueue(`later-${n}`, { delay: '1h' });
    await enqueue('now', { tenant: 'zebra' });

    expect((await q.work({ work })).settled.done).toBe(1);
    expect(await get('later-0')).toMatchObject({ state: 'ready' });
  });

  test("lets a retry wait for its time in its tenant's order", async () => {
    await enqueue('a');
    const readyAt = q.runtime.clock.now() + 60_000.5;

    await q.tasks.retry(claimOf(await run('a')), { error: ERROR, readyAt }, stamp());

    expect(await entries()).toMatchObject([{ id: 'a', tenant: 'acme', readyAt: Math.ceil(readyAt) }]);
  });

  test.each([
    ['complete', (task: RunningTask) => q.tasks.complete(claimOf(task), null, stamp())],
    ['discard', (task: RunningTask) => q.tasks.discard(claimOf(task), ERROR, stamp())],
    ['markDead', (task: RunningTask) => q.tasks.markDead(task, ERROR, stamp())],
    ['giveUp', (task: RunningTask) => q.tasks.giveUp(claimOf(task), 'enough', stamp())],
    ['cancel', (task: RunningTask) => q.operator.cancel(task.id)],
  ])('%s takes it out of the order', async (_verb, end) => {
    await enqueue('a');
    await end(await run('a'));

    expect(await entries()).toEqual([]);
  });

  test("lists a dead task as dead, and puts a retried one back in its tenant's order", async () => {
    await enqueue('a');
    await q.tasks.discard(claimOf(await run('a')), ERROR, stamp());
    const dead = [];
    for await (const { id } of q.operator.dead()) dead.push(id);
    expect(dead).toEqual(['a']);

    await q.operator.retry('a');

    expect(await entries()).toMatchObject([{ id: 'a', tenant: 'acme' }]);
    for await (const { id } of q.operator.dead()) expect(id).toBe('none');
  });

  test('moves a rescheduled task', async () => {
    await enqueue('a', { delay: '1h' });
    await q.operator.reschedule('a', { delay: new Date(1e12) });

    expect(await entries()).toMatchObject([{ id: 'a', readyAt: 1e12 }]);
  });

  test('gives children the tenant of their parent, which continues when they have ended', async () => {
    const tenants: (string | undefined)[] = [];
    const child = defineTask({ name: 'child', run: () => undefined });
    const parent = defineTask({
      name: 'parent',
      run: (_: unknown, task): Promise<unknown> =>
        task.children === undefined ? task.waitFor([spawn(child, {}, { id: 'c' })]) : Promise.resolve('done'),
    });
    await q.client.enqueue(parent, {}, { id: 'p', tenant: 'acme' });

    await q.work({ child, parent });

    tenants.push((await get('p'))?.tenant, (await get('c'))?.tenant);
    expect(tenants).toEqual(['acme', 'acme']);
    expect(await get('p')).toMatchObject({ state: 'done', result: 'done' });
  });

  test("advances a tenant's line within the tenant's order", async () => {
    const order: string[] = [];
    const work = defineTask({ name: 'work', run: ({ id }: { id: string }) => void order.push(id) });
    for (const id of ['a', 'b', 'c']) await enqueue(id, { key: 'k', ordered: true });
    expect(await entries()).toHaveLength(3);

    await q.work({ work });

    expect(order).toEqual(['a', 'b', 'c']);
    expect(await entries()).toEqual([]);
  });

  test('takes over the task of a crashed worker', async () => {
    await enqueue('a');
    await run('a');

    const report = await q.work({ work: defineTask({ name: 'work', run: () => undefined }) });

    expect(report).toMatchObject({ takenOver: 1, settled: { done: 1 } });
  });

  test('ties an id to one tenant', async () => {
    await enqueue('a');

    await expect(enqueue('a', { tenant: 'other' })).rejects.toThrow(MismatchError);
    await expect(enqueue('a', { tenant: 'other', onDuplicate: 'replace' })).rejects.toThrow(MismatchError);
    expect(await enqueue('a', { tenant: 'other', onDuplicate: 'keep' })).toMatchObject({ created: false });
  });

  test('costs 2, 1 and 2 units, like any other task', async (context) => {
    context.skip(open().engine === 'dynamodb-local', 'it does not charge for indexes');
    await enqueue('a');
    await q.tasks.complete(claimOf(await run('a')), null, stamp());

    expect(q.units()).toMatchObject({ 'task.enqueue': 2, 'task.claim': 1, 'task.complete': 2 });
  });

  test('refuses a tenant without a name', async () => {
    await expect(enqueue('a', { tenant: '' })).rejects.toThrow(ConfigurationError);
  });
});

const FOREIGN = '6-foreign';

describe('the way round the tenants', () => {
  const walkOver = (places: readonly { tenant: string; readyAt: number }[], start: number) => {
    const all = places
      .map(({ tenant, readyAt }, n) => ({
        hint: { queue: 'q', id: `t${n}`, readyAt, tenant, limit: undefined },
        place: `${tenant}#${String(readyAt).padStart(4, '0')}#${n}`,
        end: `${tenant}#~`,
        tenantEnd: `${tenant}#~`,
      }))
      .sort((a, b) => (a.place < b.place ? -1 : 1));
    const tasks = {
      pageOfGroups: (_: unknown, { after, limit }: { after: string; limit: number }) => {
        const behind = all.filter(({ place }) => place > after);
        const page = behind.slice(0, limit);
        // As the store does: foreign entries are left out, and so a page of them is empty.
        const entries = page.filter(({ hint }) => hint.tenant !== FOREIGN);
        return Promise.resolve({ entries, next: behind.length <= limit ? undefined : page.at(-1)?.place });
      },
    };
    return new GroupWalk({ queue: 'q', priority: 'normal', shard: 0 }, tasks, { next: () => start });
  };
  const query = { now: 100, wanted: 1, isWorthReading: () => true };

  test.each([0, 0.3, 0.6, 0.99])('passes pages of foreign entries from any starting point (%d)', async (start) => {
    const foreign = Array.from({ length: 120 }, (_, readyAt) => ({ tenant: FOREIGN, readyAt }));
    const walk = walkOver([{ tenant: '5', readyAt: 1 }, ...foreign, { tenant: '9', readyAt: 1 }], start);

    const visited = [await walk.next(query), await walk.next(query)].flatMap(({ hints }) => hints);

    expect(visited.map(({ tenant }) => tenant).sort()).toEqual(['5', '9']);
  });

  test.each([0, 0.3, 0.6, 0.99])('visits each once a round, wherever it begins (%d)', async (start) => {
    const tenants = ['1', '5', '9', 'd'];
    const walk = walkOver(
      tenants.flatMap((tenant) => Array.from({ length: 120 }, (_, n) => ({ tenant, readyAt: n % 90 }))),
      start,
    );

    const visits = [];
    for (let visit = 0; visit < 8; visit++)
      visits.push([...new Set((await walk.next(query)).hints.map(({ tenant }) => tenant))].join());

    expect(visits.slice(0, 4).toSorted()).toEqual(tenants);
    expect(visits.slice(4)).toEqual(visits.slice(0, 4));
  });

  test('skips tenants without due tasks, and ends after one round', async () => {
    const walk = walkOver(
      [...Array.from({ length: 200 }, () => ({ tenant: '3', readyAt: 500 })), { tenant: '7', readyAt: 1 }],
      0.5,
    );

    const { hints } = await walk.next({ ...query, wanted: 10 });

    expect(hints.map(({ tenant }) => tenant)).toEqual(['7']);
  });

  test.each([1, QUANTUM, 3 * QUANTUM])(
    "does not count %i entries that others hold towards a tenant's share",
    async (held) => {
      const mine = QUANTUM + 1;
      const walk = walkOver(
        Array.from({ length: held + mine }, (_, n) => ({ tenant: '3', readyAt: n })),
        0,
      );

      const { hints } = await walk.next({ ...query, wanted: 50, isWorthReading: ({ readyAt }) => readyAt >= held });

      expect(hints.map(({ readyAt }) => readyAt - held)).toEqual([0, 1, 2, 3]);
    },
  );

  test.each([1, QUANTUM, 20 * QUANTUM])(
    "does not count %i tasks of full keys towards a tenant's share",
    async (full) => {
      const walk = walkOver(
        Array.from({ length: full + QUANTUM + 1 }, (_, n) => ({ tenant: '3', readyAt: n })),
        0,
      );

      const { hints } = await walk.next({
        ...query,
        wanted: 50,
        admit: (hints) => Promise.resolve(hints.filter(({ readyAt }) => readyAt >= full)),
      });

      expect(hints.map(({ readyAt }) => readyAt - full)).toEqual([0, 1, 2, 3]);
    },
  );

  test('reports an empty list of tenants', async () => {
    expect(await walkOver([], 0.5).next(query)).toEqual({ hints: [], isEmpty: true, isFullyRead: true, pages: 2 });
  });
});
