import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { beforeEach, describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../shared/core/errors.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { taskConcurrencyKey } from '../../../shared/dynamo/engine/keys.ts';
import { hasCapacity, windowOf } from '../../../shared/tasks/task/key-limit.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import type { ReadyTask, RunningTask } from '../../../shared/tasks/task/task.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { STARTS_AT } from '../../support/coordination.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { numbered, stamp } from '../../support/tasks.ts';
import { Traffic, passTimeUntil } from '../../support/traffic.ts';

const ERROR = { name: 'Error', message: 'boom', at: 1 };

describeOnStore('limits per key', (open) => {
  let q: QueueUnderTest;

  beforeEach(() => {
    q = openQueue(open());
  });

  const enqueue = (id: string, options: EnqueueOptions = {}) =>
    q.client.enqueue('work', { id }, { id, key: 'tenant-1', limit: 2, ...options });
  const claim = async (id: string, session = 'somebody') => {
    const task = await q.tasks.get({ queue: q.queue, id });
    if (task?.state !== 'ready') throw new Error('not ready');
    return q.tasks.claim(task, session, stamp());
  };
  const deleteKeyRow = async () => {
    const { client, table } = open();
    await client.send(
      new DeleteItemCommand({ TableName: table, Key: marshall(taskConcurrencyKey(q.queue, 'tenant-1')) }),
    );
  };
  const run = async (id: string): Promise<RunningTask> => {
    const outcome = await claim(id);
    if (outcome.kind !== 'applied') throw new Error('refused');
    return outcome.row;
  };

  test('never claims more tasks of a key than its limit', async () => {
    const ids = Array.from({ length: 8 }, (_, n) => `t${n}`);
    await Promise.all(ids.map((id) => enqueue(id)));

    const outcomes = await Promise.all(ids.map((id) => claim(id)));

    expect(outcomes.filter(({ kind }) => kind === 'applied')).toHaveLength(2);
  });

  describe('join', () => {
    const LATER_MS = 1_000;
    const SHARDS = [0, 1];
    const inGroups = async () => {
      const pages = SHARDS.map((shard) =>
        q.tasks.pageOfGroups({ queue: q.queue, priority: 'normal', shard }, { after: ' ', limit: 50 }),
      );
      return (await Promise.all(pages)).flatMap((page) => page.entries.map(({ hint }) => hint));
    };
    const apart = async (id: string) => {
      const runAt = Date.now() + LATER_MS;
      await enqueue(id, { delay: new Date(runAt) });
      return { task: (await q.tasks.get({ queue: q.queue, id })) as ReadyTask, then: { ...stamp(), now: runAt } };
    };

    test('moves a task that is due to the others of its key, in one write, and it can be claimed there', async () => {
      const { task, then } = await apart('a');
      expect(task.isInGroup).toBe(false);
      expect(await inGroups()).toEqual([]);

      expect((await q.tasks.join(task, then)).kind).toBe('applied');

      const { readyAt, isInGroup } = (await q.tasks.get(task)) as ReadyTask;
      expect({ readyAt, isInGroup }).toEqual({ readyAt: task.readyAt, isInGroup: true });
      expect(await inGroups()).toEqual([
        { queue: q.queue, id: 'a', readyAt, tenant: undefined, limit: { key: 'tenant-1', limit: 2, rate: undefined } },
      ]);
      const pages = SHARDS.map((shard) =>
        q.tasks.page({ queue: q.queue, priority: 'normal', shard }, { now: readyAt, limit: 50 }),
      );
      expect((await Promise.all(pages)).flatMap(({ hints }) => hints)).toEqual([]);
      expect((await q.tasks.claim((await q.tasks.get(task)) as ReadyTask, 'somebody', then)).kind).toBe('applied');
    });

    test('refuses a task that is not due yet', async () => {
      const { task } = await apart('a');

      expect((await q.tasks.join(task, { ...stamp(), now: task.readyAt - 1 })).kind).toBe('refused');
    });
  });

  test.each([
    ['complete', (task: RunningTask) => q.tasks.complete(claimOf(task), null, stamp())],
    ['commit', (task: RunningTask) => q.tasks.commit(claimOf(task), null, [], numbered())],
    ['retry', (task: RunningTask) => q.tasks.retry(claimOf(task), { error: ERROR, readyAt: 0 }, stamp())],
    ['discard', (task: RunningTask) => q.tasks.discard(claimOf(task), ERROR, stamp())],
    ['release', (task: RunningTask) => q.tasks.release(claimOf(task), stamp())],
    ['snooze', (task: RunningTask) => q.tasks.snooze(claimOf(task), 0, stamp())],
    ['giveUp', (task: RunningTask) => q.tasks.giveUp(claimOf(task), 'enough', stamp())],
    ['markDead', (task: RunningTask) => q.tasks.markDead(task, ERROR, stamp())],
    ['cancel of an abandoned one', (task: RunningTask) => q.operator.cancel(task.id)],
  ])('%s gives the place back', async (_verb, end) => {
    await enqueue('a', { limit: 1 });
    await enqueue('b', { limit: 1 });
    const task = await run('a');
    expect((await claim('b')).kind).toBe('refused');

    await end(task);

    expect((await claim('b')).kind).toBe('applied');
  });

  test("keeps a crashed worker's slot for the worker that takes its task over", async () => {
    await enqueue('a', { limit: 1 });
    await enqueue('b', { limit: 1 });
    const dead = await run('a');
    const outcome = await q.tasks.takeOver(dead, 'another', stamp());
    if (outcome.kind !== 'applied') throw new Error('refused');

    expect((await claim('b')).kind).toBe('refused');
    await q.tasks.complete(claimOf(dead), null, stamp());
    expect((await claim('b')).kind).toBe('refused');
    await q.tasks.complete(claimOf(outcome.row), null, stamp());
    expect((await claim('b')).kind).toBe('applied');
  });

  test('ends a task whose key lost its row, without exceeding the limit', async () => {
    for (const id of ['a', 'b', 'c']) await enqueue(id, { limit: 1 });
    const task = await run('a');
    await deleteKeyRow();

    expect((await q.tasks.complete(claimOf(task), null, stamp())).kind).toBe('applied');
    expect((await claim('b')).kind).toBe('applied');
    expect((await claim('c')).kind).toBe('refused');
  });

  test("ends a task whose key's count restarted, without freeing another task's slot", async () => {
    for (const id of ['a', 'b', 'c', 'd']) await enqueue(id, { limit: 1 });
    const before = await run('a');
    await deleteKeyRow();
    const after = await run('b');

    expect((await q.tasks.complete(claimOf(before), null, stamp())).kind).toBe('applied');
    expect((await q.tasks.commit(claimOf(after), null, [], numbered())).kind).toBe('applied');
    expect((await claim('c')).kind).toBe('applied');
    expect((await claim('d')).kind).toBe('refused');
  });

  test('runs all tasks of a key in one worker, never more at once than the limit', async () => {
    let running = 0;
    let most = 0;
    const work = defineTask({
      name: 'work',
      async run() {
        most = Math.max(most, ++running);
        await q.runtime.clock.sleep(10);
        running--;
      },
    });
    await Promise.all(Array.from({ length: 6 }, (_, n) => enqueue(`t${n}`)));

    expect((await q.work({ work }, { concurrency: 6 })).settled.done).toBe(6);
    expect(most).toBeLessThanOrEqual(2);
  });

  test('reads little and exits when other workers have filled the key', async () => {
    // No time passes while requests are in flight, because rows that were read too long ago are read again.
    const [clock, traffic] = [new ManualClock(STARTS_AT), new Traffic(open().driver)];
    q = openQueue({ ...open(), driver: traffic }, { ...systemRuntime, clock, random: { next: () => 0.5 } });
    await using session = await q.session();
    for (const id of ['a', 'b', 'c']) await enqueue(id, { limit: 1 });
    const task = await q.tasks.get({ queue: q.queue, id: 'a' });
    if (task?.state !== 'ready') throw new Error('not ready');
    await q.tasks.claim(task, session.id, stamp(q.runtime));

    const working = q.work({ work: defineTask({ name: 'work', run: () => undefined }) });
    const report = await passTimeUntil(working, { clock, traffic, stepMs: 10 });

    expect(report).toMatchObject({ claimed: 0, ended: 'drained' });
    expect(q.meter.read().byVerb['key.get']?.requests).toBeLessThan(6);
  });

  test('claims without reading the key if capacity is likely, and is refused if there is none', async () => {
    for (const id of ['a', 'b']) await enqueue(id, { limit: 1 });
    const [a, b] = [await run('a'), await q.tasks.get({ queue: q.queue, id: 'b' })];
    if (b?.state !== 'ready') throw new Error('not ready');
    const looks = q.meter.read().byVerb['key.get']?.requests;
    const claimB = () => q.tasks.claim(b, 'somebody', stamp(), { expectsCapacity: true });

    expect((await claimB()).kind).toBe('refused');
    await q.tasks.complete(claimOf(a), null, stamp());
    expect((await claimB()).kind).toBe('applied');
    expect(q.meter.read().byVerb['key.get']?.requests).toBe(looks);
  });

  test('obeys a rate when a claim expects capacity', async () => {
    const rate = { count: 1, per: '1h' } as const;
    for (const id of ['a', 'b']) await enqueue(id, { limit: 9, rate });
    // One moment for both: the hour may turn between two claims.
    const { now } = stamp();
    const claimNow = async (id: string) => {
      const task = await q.tasks.get({ queue: q.queue, id });
      if (task?.state !== 'ready') throw new Error('not ready');
      return q.tasks.claim(task, 'somebody', { ...stamp(), now }, { expectsCapacity: true });
    };

    expect([(await claimNow('a')).kind, (await claimNow('b')).kind]).toEqual(['applied', 'refused']);
  });

  test("starts at most the rate's number of tasks per window", async () => {
    const rate = { count: 2, per: '1h' } as const;
    for (const id of ['a', 'b', 'c']) await enqueue(id, { limit: 9, rate });
    // One moment for all: the hour may turn between two claims.
    const { now } = stamp();
    const claimNow = async (id: string) => {
      const task = await q.tasks.get({ queue: q.queue, id });
      if (task?.state !== 'ready') throw new Error('not ready');
      return q.tasks.claim(task, 'somebody', { ...stamp(), now });
    };
    for (const id of ['a', 'b']) {
      const outcome = await claimNow(id);
      if (outcome.kind !== 'applied') throw new Error('refused');
      await q.tasks.complete(claimOf(outcome.row), null, stamp());
    }

    expect((await claimNow('c')).kind).toBe('refused');
  });

  test('units: claim 4, complete 5, of a key that is full only a read', async (context) => {
    context.skip(open().engine === 'dynamodb-local', 'it charges transactions as if they were none');
    await enqueue('a', { limit: 1 });
    await enqueue('b', { limit: 1 });
    const task = await run('a');
    await claim('b');
    await q.tasks.complete(claimOf(task), null, stamp());

    expect(q.units()).toMatchObject({ 'task.enqueue': 4, 'task.claim': 4, 'task.complete': 5 });
  });

  test.each([
    ['a limit of 0', { key: 'k', limit: 0 }, 'limit = 0'],
    ['a limit without a key', { limit: 3 }, 'limit and rate require a key'],
    ['a rate of nothing', { key: 'k', rate: { count: 0, per: '1m' } }, 'rate.count = 0'],
    ['a rate over no time', { key: 'k', rate: { count: 1, per: 0 } }, 'rate.per = 0'],
    ['a rate without a key', { rate: { count: 1, per: '1m' } }, 'limit and rate require a key'],
  ])('refuses %s before anything is written', async (_what, options, message) => {
    const enqueuing = q.client.enqueue('work', {}, options as EnqueueOptions);

    await expect(enqueuing).rejects.toThrow(ConfigurationError);
    await expect(enqueuing).rejects.toThrow(message);
  });
});

describe('the capacity of a key', () => {
  const rate = { count: 2, perMs: 1_000 };

  test('depends on running tasks, and on starts in the current window', () => {
    const limit = { key: 'k', limit: 3, rate };

    expect(hasCapacity(limit, { running: 3, window: undefined, started: 0, enteredAt: undefined }, 5_500)).toBe(false);
    expect(hasCapacity(limit, { running: 0, window: 5_000, started: 2, enteredAt: undefined }, 5_999)).toBe(false);
    expect(hasCapacity(limit, { running: 0, window: 5_000, started: 2, enteredAt: undefined }, 6_000)).toBe(true);
    expect(windowOf(rate, 5_999)).toBe(5_000);
  });
});
