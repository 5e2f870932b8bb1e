/** Tasks that join a line in the transaction of another task: in its commit and as children that it waits for. */
import { DeleteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { beforeEach, expect, test } from 'vitest';
import type { DynamoDriver } from '../../../shared/dynamo/engine/driver.ts';
import { taskKey } from '../../../shared/dynamo/engine/keys.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { createTaskStore } from '../../../shared/tasks/rows/task/dynamo-task-store.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { CommitRefusedError } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { EnqueueOptions } from '../../../shared/tasks/task/task-request.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import { NEVER, waiterOf } from '../../../shared/tasks/task/batch.ts';
import type { Effect, NewTask } from '../../../shared/tasks/task/task-store.ts';
import type { RunningTask } from '../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { numbered, stamp } from '../../support/tasks.ts';
import { PATIENT } from '../../support/patient.ts';

describeOnStore('tasks spawned in strict order', (open) => {
  let q: QueueUnderTest;
  let order: string[];

  beforeEach(() => {
    q = openQueue(open());
    order = [];
  });

  const work = defineTask({ name: 'work', run: (_: unknown, { id }) => void order.push(id) });
  const inLine = (key = 'k'): EnqueueOptions => ({ key, ordered: true });
  const plain = (id: string): NewTask => ({
    queue: q.queue,
    id,
    name: 'work',
    input: null,
    priority: 'normal',
    runAt: 0,
  });
  const child = (id: string, key = 'k'): NewTask => ({ ...plain(id), line: key });
  const spawned = (...ids: string[]): Effect[] => ids.map((id) => ({ spawn: child(id) }));
  const get = (id: string) => q.tasks.get({ queue: q.queue, id });
  const claim = async (id: string): Promise<RunningTask> => {
    const task = await get(id);
    if (task?.state !== 'ready') throw new Error(`${id} is not ready`);
    const outcome = await q.tasks.claim(task, 'somebody', stamp());
    if (outcome.kind !== 'applied') throw new Error(`${id} was refused`);
    return outcome.row;
  };
  const start = async (id: string, options: EnqueueOptions = {}) => {
    await q.client.enqueue('work', {}, { id, ...options });
    return claim(id);
  };
  /** Checks the order of a line: the ids by ticket, the head first. */
  const line = async (...ids: string[]): Promise<string[]> => {
    const tasks = await Promise.all(ids.map(get));
    const places = tasks.map((task) => {
      if (task?.state !== 'ready') throw new Error(`${task?.id} is not ready`);
      const { key = '', ticket = 0 } = task.links?.line ?? {};
      return { id: task.id, key, ticket };
    });
    const keys = [...new Set(places.map(({ key }) => key))];
    const turns = await q.tasks.getTurns(q.queue, keys, { isConsistent: true });
    return places
      .sort((one, other) => one.ticket - other.ticket)
      .map(({ id, key, ticket }) => (ticket === turns.get(key) ? `${id} is head` : id));
  };
  const commit = (task: RunningTask, effects: readonly Effect[], tasks = q.tasks) =>
    tasks.commit(claimOf(task), null, effects, numbered());

  test('stand in their line in the order given, the first of them as its head', async () => {
    expect((await commit(await start('parent'), spawned('b', 'c', 'a'))).kind).toBe('applied');

    expect(await line('a', 'b', 'c')).toEqual(['b is head', 'c', 'a']);
    await q.work({ work });
    expect(order).toEqual(['b', 'c', 'a']);
  });

  test('joins behind tasks already in the line', async () => {
    await q.client.enqueue('work', {}, { id: 'first', ...inLine() });

    await commit(await start('parent'), spawned('a', 'b'));

    expect(await line('first', 'a', 'b')).toEqual(['first is head', 'a', 'b']);
    await q.work({ work });
    expect(order).toEqual(['first', 'a', 'b']);
  });

  test("joins behind the waiting task of the parent's line, which starts it when it ends", async () => {
    const parent = await start('parent', inLine());
    await q.client.enqueue('work', {}, { id: 'next', ...inLine() });

    await commit(parent, spawned('a', 'b'));

    expect(await line('next', 'a', 'b')).toEqual(['next is head', 'a', 'b']);
    await q.work({ work });
    expect(order).toEqual(['next', 'a', 'b']);
  });

  test('starts at the end of a parent that is last in the same line', async () => {
    const parent = await start('parent', inLine());

    await commit(parent, spawned('a', 'b'));
    await q.client.enqueue('work', {}, { id: 'later', ...inLine() });

    expect(await line('a', 'b', 'later')).toEqual(['a is head', 'b', 'later']);
    await q.work({ work });
    expect(order).toEqual(['a', 'b', 'later']);
  });

  test("stays behind the parent's next task that was removed by hand", async () => {
    const parent = await start('parent', inLine());
    await q.client.enqueue('work', {}, { id: 'gone', ...inLine() });
    const { client, table } = open();
    await DynamoDBDocumentClient.from(client).send(
      new DeleteCommand({ TableName: table, Key: { ...taskKey(q.queue, 'gone') } }),
    );

    await commit(parent, spawned('a'));

    expect(await line('a')).toEqual(['a']);
  });

  test('joins several lines at once, next to children without a line', async () => {
    await q.client.enqueue('work', {}, { id: 'first', ...inLine('k2') });
    const children = [child('a', 'k1'), child('b', 'k2'), plain('c'), child('d', 'k1'), child('e', 'k2')];

    await commit(
      await start('parent', inLine('k1')),
      children.map((task) => ({ spawn: task })),
    );

    expect(await line('a', 'd')).toEqual(['a is head', 'd']);
    expect(await line('first', 'b', 'e')).toEqual(['first is head', 'b', 'e']);
    expect(await get('c')).toMatchObject({ state: 'ready', links: undefined });
  });

  test("commits together with the parent's batch, key, line and a write of the user’s own", async () => {
    const batch = { queue: q.queue, id: 'batch' };
    const callback = { ...plain('then'), runAt: NEVER, children: batch };
    await q.tasks.createBatch({ ...batch, total: 1, waiter: waiterOf(callback) }, callback, stamp());
    const rate = { count: 10, perMs: 60_000 };
    await q.tasks.enqueue(
      { ...child('parent'), links: { batch: 'batch', concurrency: { key: 'k', limit: 1, rate } } },
      stamp(),
    );
    const parent = await claim('parent');
    await q.client.enqueue('work', {}, { id: 'next', ...inLine() });
    const Item = { pk: `own#${q.queue}`, sk: 'own' };

    const outcome = await commit(parent, [{ Put: { TableName: q.table, Item } }, ...spawned('a', 'b')]);

    expect(outcome.kind).toBe('applied');
    expect(await line('next', 'a', 'b')).toEqual(['next is head', 'a', 'b']);
    await claim('then');
    expect(await q.client.getBatch('batch')).toMatchObject({ pending: 0, done: 1 });
  });

  test('are planned again when a task joins between the read and the commit', async () => {
    let intruders = 2;
    const { driver } = open();
    const disturbed: DynamoDriver = {
      async attempt(kind, input, signal) {
        if (kind === 'transactWrite' && intruders-- > 0)
          await q.client.enqueue('work', {}, { id: `intruder ${intruders}`, ...inLine() });
        return driver.attempt(kind, input, signal);
      },
    };
    const tasks = createTaskStore(new Sender({ driver: disturbed, runtime: systemRuntime, policy: PATIENT }), {
      table: q.table,
      shards: 2,
    });

    expect((await commit(await start('parent', inLine()), spawned('a', 'b'), tasks)).kind).toBe('applied');

    expect(await line('intruder 1', 'intruder 0', 'a', 'b')).toEqual(['intruder 1 is head', 'intruder 0', 'a', 'b']);
  });

  test('keeps the order of each of many concurrent parents', async () => {
    const parents = Array.from({ length: 6 }, (_, n) => `p${n}`);
    const parent = defineTask({
      name: 'parent',
      run: (_: unknown, task) =>
        task.commit(undefined, [], {
          spawn: [0, 1, 2].map((n) => spawn(work, {}, { id: `${task.id}/${n}`, ...inLine() })),
        }),
    });
    for (const id of parents) await q.client.enqueue(parent, {}, { id });

    const report = await q.work({ parent, work }, { concurrency: 6 });

    expect(report.settled.done).toBe(24);
    expect(order).toHaveLength(18);
    for (const id of parents)
      expect(order.filter((each) => each.startsWith(id))).toEqual([`${id}/0`, `${id}/1`, `${id}/2`]);
  });

  test.each(['a write of the user’s own', 'an id that is taken'])(
    'do not join, and their parent still runs, when the commit is refused by %s',
    async (what) => {
      await q.client.enqueue('work', {}, { id: 'taken', delay: '1h' });
      const parent = await start('parent', inLine());
      const Item = { pk: `x#${q.queue}`, sk: 'x' };
      const guarded = { Put: { TableName: q.table, Item, ConditionExpression: 'attribute_exists(pk)' } };
      const effects = what.startsWith('an id') ? spawned('a', 'taken') : [guarded, ...spawned('a')];

      const outcome = await commit(parent, effects);

      const codes = outcome.kind === 'canceled' ? outcome.reasons.map(({ code }) => code) : [];
      expect(codes.sort()).toEqual(['ConditionalCheckFailed', 'None']);
      expect(await get('a')).toBeUndefined();
      await q.client.enqueue('work', {}, { id: 'behind', ...inLine() });
      expect(await line('behind')).toEqual(['behind']);
      await commit(parent, []);
      expect(await line('behind')).toEqual(['behind is head']);
    },
  );

  test('do not join when their parent was taken over', async () => {
    const parent = await start('parent', inLine());
    await q.tasks.takeOver(parent, 'another', stamp());

    expect((await commit(parent, spawned('a'))).kind).toBe('refused');

    expect(await get('a')).toBeUndefined();
    await q.client.enqueue('work', {}, { id: 'behind', ...inLine() });
    expect(await line('behind')).toEqual(['behind']);
  });

  test('may store inputs in second rows', async () => {
    const seen: number[] = [];
    const measure = defineTask({ name: 'measure', run: ({ text }: { text: string }) => void seen.push(text.length) });
    const parent = defineTask({
      name: 'parent',
      run: (_: unknown, task) =>
        task.commit(undefined, [], {
          spawn: [40_000, 20_000, 30_000].map((size) => spawn(measure, { text: 'x'.repeat(size) }, inLine())),
        }),
    });
    await q.client.enqueue(parent, {});

    expect((await q.work({ parent, measure })).settled.done).toBe(4);

    expect(seen).toEqual([40_000, 20_000, 30_000]);
  });

  test('run one after another, and wake the waiting parent when the last has ended', async () => {
    const seen: TaskContext['children'][] = [];
    const parent = defineTask({
      name: 'parent',
      async run(_: unknown, task) {
        seen.push(task.children);
        if (task.children !== undefined) return order.length;
        return task.waitFor(['a', 'b', 'c'].map((id) => spawn(work, {}, { id, ...inLine() })));
      },
    });
    await q.client.enqueue(parent, {}, { id: 'parent' });

    await q.work({ parent, work }, { concurrency: 4 });

    expect(order).toEqual(['a', 'b', 'c']);
    expect(seen).toMatchObject([undefined, { total: 3, done: 3, pending: 0 }]);
    expect(await get('parent')).toMatchObject({ state: 'done', result: 3 });
  });

  test('blocks the line of a parent that waits for tasks of another line', async () => {
    const parent = await start('parent', inLine('mine'));
    await q.client.enqueue('work', {}, { id: 'follower', ...inLine('mine') });

    const children = ['a', 'b'].map((id) => ({ ...child(id, 'theirs'), links: { batch: 'kids' } }));
    expect((await q.tasks.waitForChildren(claimOf(parent), 'kids', children, numbered())).kind).toBe('applied');

    expect(await line('a', 'b')).toEqual(['a is head', 'b']);
    expect(await line('follower')).toEqual(['follower']);
    expect(await q.client.getBatch('kids')).toMatchObject({ total: 2, pending: 2 });
  });

  test('wake a parent in a line that was rescheduled while it waited', async () => {
    const parent = await start('parent', inLine('mine'));
    await q.client.enqueue('work', {}, { id: 'follower', ...inLine('mine') });
    const children = ['a', 'b'].map((id) => ({ ...child(id, 'theirs'), links: { batch: 'kids' } }));
    await q.tasks.waitForChildren(claimOf(parent), 'kids', children, numbered());

    await q.operator.reschedule('parent', { priority: 'high', delay: new Date(NEVER) });
    await q.work({ work });

    expect(order).toEqual(['a', 'b', 'parent', 'follower']);
  });

  test('costs 3 units for each task, and 2 for its line', async (context) => {
    context.skip(open().engine === 'dynamodb-local', 'it charges transactions as if they were none');
    const none = await commitUnits(await start('p0'), []);
    const one = await commitUnits(await start('p1'), [{ spawn: child('one', 'k1') }]);
    const three = await commitUnits(
      await start('p2'),
      ['a', 'b', 'c'].map((id) => ({ spawn: child(id, 'k2') })),
    );

    // A row in a transaction costs 2, its index entry 1; the line's row 2.
    expect(one - none).toBe(3 + 2);
    expect(three - none).toBe(3 * 3 + 2);
  });

  const commitUnits = async (task: RunningTask, effects: readonly Effect[]): Promise<number> => {
    const before = q.meter.read().writeUnits;
    await commit(task, effects);
    return q.meter.read().writeUnits - before;
  };

  test('are refused where they would wait for the task that waits for them', async () => {
    const parent = defineTask({
      name: 'parent',
      retry: { maxAttempts: 1 },
      run: (_: unknown, task) => task.waitFor([spawn(work, {}, { id: 'a', ...inLine() })]),
    });
    await q.client.enqueue(parent, {}, { id: 'parent', ...inLine() });

    await q.work({ parent, work });

    expect(await get('parent')).toMatchObject({
      state: 'dead',
      lastError: { message: expect.stringContaining('would wait behind it in the line of key k') as string },
    });
    expect(await get('a')).toBeUndefined();
  });

  test('distinguishes a refused child from a refused commit', async () => {
    const errors: unknown[] = [];
    await q.client.enqueue('work', {}, { id: 'taken', delay: '1h' });
    const parent = defineTask({
      name: 'parent',
      run: (_: unknown, task) =>
        task
          .commit(undefined, [], { spawn: [spawn(work, {}, { id: 'taken', ...inLine() })] })
          .catch((error: unknown) => errors.push(error)),
    });
    await q.client.enqueue(parent, {}, { id: 'parent' });

    await q.work({ parent });

    expect(errors).toEqual([expect.any(CommitRefusedError)]);
  });
});
