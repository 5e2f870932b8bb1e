/** An operator's view of keys, and its repairs after rows were deleted by hand. */
import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { beforeEach, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../shared/core/errors.ts';
import type { RowKey } from '../../../shared/dynamo/engine/keys.ts';
import { taskConcurrencyKey, taskKey } from '../../../shared/dynamo/engine/keys.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { reportKeys } from '../../../shared/tasks/queue/key-report.ts';
import { TaskOperator } from '../../../shared/tasks/queue/task-operator.ts';
import type { TaskOperatorStore } from '../../../shared/tasks/task/task-operator-store.ts';
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import type { RunningTask } from '../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import { STARTS_AT } from '../../support/coordination.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnEveryStore } from '../../support/stores.ts';
import { stamp } from '../../support/tasks.ts';

/** Longer than the indexes may lag. */
const SETTLED_MS = 10_000;

describeOnEveryStore('an operator who repairs a key', (open) => {
  let q: QueueUnderTest;
  let clock: ManualClock;

  beforeEach(() => {
    clock = new ManualClock(STARTS_AT);
    q = openQueue(open(), { ...systemRuntime, clock });
  });

  const KEY = 'customer-1';
  const enqueue = (id: string, options: EnqueueOptions = {}) =>
    q.client.enqueue('work', { id }, { id, key: KEY, limit: 2, ...options });
  const enqueueInOrder = (id: string) => q.client.enqueue('work', { id }, { id, key: KEY, ordered: true });
  const now = () => ({ ...stamp(), now: clock.now() });
  const claim = async (id: string) => {
    const task = await q.tasks.get({ queue: q.queue, id });
    if (task?.state !== 'ready') throw new Error('not ready');
    return q.tasks.claim(task, 'somebody', now());
  };
  const run = async (id: string): Promise<RunningTask> => {
    const outcome = await claim(id);
    if (outcome.kind !== 'applied') throw new Error('refused');
    return outcome.row;
  };
  const remove = async (key: RowKey) => {
    const { client, table } = open();
    await client.send(new DeleteItemCommand({ TableName: table, Key: marshall({ ...key }) }));
  };
  const settle = () => clock.advance(SETTLED_MS);

  test('sees limit, count, and running and waiting tasks of a key, also of tenants', async () => {
    await enqueue('a', { tenant: 'acme' });
    await enqueue('b');
    await enqueue('c', { delay: '1h' });
    await enqueue('d', { limit: 5 });
    await enqueue('x', { key: 'customer-2' });
    await run('a');

    const report = await q.operator.key(KEY);

    expect(report).toMatchObject({ limits: [2, 5], count: 1, waiting: 3, parked: 0, difference: 0, isExact: true });
    expect(report.running.map(({ id }) => id)).toEqual(['a']);
  });

  test('sees parked tasks, and those that run although they are parked', async () => {
    await enqueue('a', { limit: 1 });
    await enqueue('b', { limit: 1 });
    const running = await run('a');
    const waiting = await q.tasks.get({ queue: q.queue, id: 'b' });
    if (waiting?.state !== 'ready') throw new Error('not ready');
    await q.tasks.parking.park([{ task: waiting, write: now() }], KEY);

    expect(await q.operator.key(KEY)).toMatchObject({ count: 1, waiting: 0, parked: 1, difference: 0 });

    await q.tasks.complete(claimOf(running), null, now());
    await run('b');
    expect(await q.operator.key(KEY)).toMatchObject({ count: 1, parked: 0, difference: 0 });
  });

  test.each<[string, (running: RunningTask) => Promise<unknown>]>([
    ['starts', () => run('b')],
    ['ends', (running) => q.tasks.complete(claimOf(running), null, now())],
  ])('calls a report inexact if a task of the key %s while it is made', async (_what, change) => {
    await enqueue('a');
    await enqueue('b');
    let changing: Promise<unknown> | undefined;
    const running = await run('a');
    const getManyNow: TaskOperatorStore['getManyNow'] = async (...asked) => {
      const rows = await q.operations.getManyNow(...asked);
      await (changing ??= change(running));
      return rows;
    };
    const ports = { ...q, operations: { ...q.operations, getManyNow }, gauge: noSkewGauge };

    expect(await reportKeys(ports, { queue: q.queue, keys: [KEY] })).toMatchObject([{ isExact: false }]);
    expect(await reportKeys(ports, { queue: q.queue, keys: [KEY] })).toMatchObject([{ isExact: true }]);
  });

  test('frees the slot of a running task whose row was deleted', async () => {
    await enqueue('a', { limit: 1 });
    await enqueue('b', { limit: 1 });
    await remove(taskKey(q.queue, (await run('a')).id));
    await settle();
    expect((await claim('b')).kind).toBe('refused');
    expect(await q.operator.key(KEY)).toMatchObject({ count: 1, running: [], difference: 1, isExact: true });

    expect(await q.operator.recountKey(KEY)).toEqual({ kind: 'recounted', before: 1, after: 0 });

    expect((await claim('b')).kind).toBe('applied');
    expect(await q.operator.key(KEY)).toMatchObject({ count: 1, difference: 0 });
  });

  test('counts the running tasks of a key whose row was deleted, so that the limit holds', async () => {
    for (const id of ['a', 'b', 'c']) await enqueue(id);
    const tasks = [await run('a'), await run('b')];
    await remove(taskConcurrencyKey(q.queue, KEY));
    await settle();

    expect(await q.operator.recountKey(KEY)).toEqual({ kind: 'recounted', before: 0, after: 2 });

    expect((await claim('c')).kind).toBe('refused');
    for (const task of tasks) await q.tasks.complete(claimOf(task), null, now());
    expect(await q.operator.key(KEY)).toMatchObject({ count: 0, difference: 0 });
  });

  test('changes nothing if the count is right', async () => {
    await enqueue('a');
    await run('a');
    await settle();
    const before = q.units()['key.recount'];

    expect(await q.operator.recountKey(KEY)).toEqual({ kind: 'right', before: 1, after: 1 });
    expect(await q.operator.recountKey('nobody')).toEqual({ kind: 'right', before: 0, after: 0 });
    expect(q.units()['key.recount']).toBe(before);
  });

  test.each(['starts', 'ends'])('counts again if a task of the key %s while they are read', async (change) => {
    for (const id of ['a', 'b', 'c']) await enqueue(id, { limit: 5 });
    await remove(taskKey(q.queue, (await run('a')).id));
    const ending = await run('b');
    await settle();
    let rounds = 0;
    const operator = operatorWith({
      getManyNow: async (keys, onDamaged) => {
        const rows = await q.operations.getManyNow(keys, onDamaged);
        if (++rounds === 1) await (change === 'starts' ? run('c') : q.tasks.complete(claimOf(ending), null, now()));
        await settle();
        return rows;
      },
    });

    const report = await operator.recountKey(KEY);

    expect(report).toEqual({
      kind: 'recounted',
      before: change === 'starts' ? 3 : 1,
      after: change === 'starts' ? 2 : 0,
    });
    expect(await q.operator.key(KEY)).toMatchObject({ difference: 0 });
  });

  test('is not deceived by a task that ends and another that starts in the meantime', async () => {
    for (const id of ['a', 'b', 'c']) await enqueue(id, { limit: 5 });
    await remove(taskKey(q.queue, (await run('a')).id));
    const ending = await run('b');
    await settle();
    let rounds = 0;
    const operator = operatorWith({
      getManyNow: async (keys, onDamaged) => {
        if (++rounds === 1) {
          const before = await q.operations.getManyNow(keys, onDamaged);
          await q.tasks.complete(claimOf(ending), null, now());
          await run('c');
          await settle();
          return before.filter(({ id }) => id !== 'b');
        }
        return q.operations.getManyNow(keys, onDamaged);
      },
    });

    expect(await operator.recountKey(KEY)).toEqual({ kind: 'recounted', before: 2, after: 1 });
  });

  test('gives up if tasks of the key start all the time, and changes nothing', async () => {
    const ids = Array.from({ length: 20 }, (_, n) => `t${n}`);
    for (const id of ids) await enqueue(id, { limit: 50 });
    await run('t0');
    await remove(taskKey(q.queue, 't0'));
    await settle();
    let next = 1;
    const operator = operatorWith({
      getManyNow: async (keys, onDamaged) => {
        const rows = await q.operations.getManyNow(keys, onDamaged);
        if (next < ids.length) await run(ids[next++] ?? '');
        await settle();
        return rows;
      },
    });

    await expect(operator.recountKey(KEY)).rejects.toThrow(StoreUnavailableError);
    expect(await q.operator.key(KEY)).toMatchObject({ difference: 1 });
  });

  test('passes the turn of a head whose row was deleted, over others that are gone too', async () => {
    for (const id of ['a', 'b', 'c']) await enqueueInOrder(id);
    for (const id of ['a', 'b']) await remove(taskKey(q.queue, id));

    expect(await q.operator.passLine(KEY)).toEqual({ kind: 'passed', head: 'a', next: 'c' });

    await q.tasks.complete(claimOf(await run('c')), null, now());
    expect(await q.operator.passLine(KEY)).toEqual({ kind: 'empty' });
    await enqueueInOrder('d');
    expect((await claim('d')).kind).toBe('applied');
  });

  test('does not pass the turn of a head that can end', async () => {
    for (const id of ['a', 'b']) await enqueueInOrder(id);
    expect(await q.operator.passLine(KEY)).toEqual({ kind: 'alive', head: 'a', state: 'ready' });
    await run('a');
    expect(await q.operator.passLine(KEY)).toEqual({ kind: 'alive', head: 'a', state: 'running' });
    await expect(run('b')).rejects.toThrow('refused');
  });

  /** The operator, over a store with some operations of the test's own. */
  function operatorWith(operations: Partial<TaskOperatorStore>): TaskOperator {
    return new TaskOperator(
      { ...q, operations: { ...q.operations, ...operations }, gauge: noSkewGauge },
      { queue: q.queue, maxClockSkewMs: 0 },
    );
  }
});
