import { DeleteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { beforeEach, expect, test } from 'vitest';
import { taskKey } from '../../../shared/dynamo/engine/keys.ts';
import { ConfigurationError } from '../../../shared/core/errors.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import type { Priority, RunningTask } from '../../../shared/tasks/task/task.ts';
import { GroupWalk } from '../../../shared/tasks/task/group-walk.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { numbered, stamp, waitsInLine } from '../../support/tasks.ts';

const ERROR = { name: 'Error', message: 'boom', at: 1 };

describeOnStore('tasks in strict order per key', (open) => {
  let q: QueueUnderTest;

  beforeEach(() => {
    q = openQueue(open());
  });

  const enqueue = (id: string, options: EnqueueOptions = {}) =>
    q.client.enqueue('work', { id }, { id, key: 'customer-1', ordered: true, ...options });
  const enqueueEach = async (...ids: string[]) => {
    for (const id of ids) await enqueue(id);
  };
  const get = (id: string) => q.tasks.get({ queue: q.queue, id });
  const claim = async (id: string, session = 'somebody') => {
    const task = await get(id);
    if (task?.state !== 'ready') throw new Error('not ready');
    return q.tasks.claim(task, session, stamp());
  };
  const run = async (id: string): Promise<RunningTask> => {
    const outcome = await claim(id);
    if (outcome.kind !== 'applied') throw new Error('refused');
    return outcome.row;
  };
  const isHeld = async (id: string): Promise<boolean> => waitsInLine(q.tasks, await get(id));
  /** The first due task of each line. */
  const proposed = async (priority: Priority = 'normal'): Promise<string[]> => {
    const walks = [0, 1].map((shard) =>
      new GroupWalk({ queue: q.queue, priority, shard }, q.tasks).next({ now: q.runtime.clock.now(), wanted: 50 }),
    );
    return (await Promise.all(walks)).flatMap(({ hints }) => hints.map(({ id }) => id)).sort();
  };

  test('proposes and claims only the head of a line', async () => {
    await enqueueEach('a', 'b', 'c');
    await enqueue('z', { key: 'customer-2' });

    expect(await proposed()).toEqual(['a', 'z']);
    expect((await claim('b')).kind).toBe('refused');
    expect((await claim('a')).kind).toBe('applied');
    expect((await claim('b')).kind).toBe('refused');
  });

  test('run in order, one task of a line at a time, and several lines in parallel', async () => {
    const keys = ['k1', 'k2', 'k3'];
    const order = new Map<string, number[]>(keys.map((key) => [key, []]));
    const running = new Set<string>();
    const begun = new Set<string>();
    const work = defineTask({
      name: 'work',
      async run({ key, n }: { key: string; n: number }) {
        expect(running.has(key)).toBe(false);
        running.add(key);
        begun.add(key);
        // An engine that is slow to answer claims would otherwise decide whether any two tasks meet.
        await expect.poll(() => begun.size, { timeout: 30_000, message: 'lines under way' }).toBe(keys.length);
        await q.runtime.clock.sleep(5 + 10 * q.runtime.random.next());
        order.get(key)?.push(n);
        running.delete(key);
      },
    });
    const requests = Array.from({ length: 8 }, (_, n) => keys.map((key) => ({ key, n }))).flat();
    const tasks = requests.map((input) => q.client.validate(work, input, { key: input.key, ordered: true }));
    await q.client.enqueueAll(await Promise.all(tasks));

    const reports = await Promise.all([q.work({ work }, { concurrency: 4 }), q.work({ work }, { concurrency: 4 })]);

    expect(reports.reduce((sum, { settled }) => sum + settled.done, 0)).toBe(24);
    for (const key of keys) expect(order.get(key)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('adds all tasks that join concurrently', async () => {
    await Promise.all(Array.from({ length: 12 }, (_, n) => enqueue(`t${n}`)));
    let done = 0;
    const work = defineTask({
      name: 'work',
      run: () => {
        done++;
      },
    });

    await q.work({ work });

    expect(done).toBe(12);
  });

  test.each([
    ['complete', (task: RunningTask) => q.tasks.complete(claimOf(task), null, stamp())],
    ['commit', (task: RunningTask) => q.tasks.commit(claimOf(task), null, [], numbered())],
    ['discard', (task: RunningTask) => q.tasks.discard(claimOf(task), ERROR, stamp())],
    ['giveUp', (task: RunningTask) => q.tasks.giveUp(claimOf(task), 'enough', stamp())],
    ['markDead', (task: RunningTask) => q.tasks.markDead(task, ERROR, stamp())],
    ['cancel of an abandoned one', (task: RunningTask) => q.operator.cancel(task.id)],
  ])('%s of the head passes the turn to the next', async (_verb, end) => {
    await enqueueEach('a', 'b', 'c');
    await end(await run('a'));

    expect(await isHeld('c')).toBe(true);
    expect((await claim('b')).kind).toBe('applied');
  });

  test.each([
    ['retry', (task: RunningTask) => q.tasks.retry(claimOf(task), { error: ERROR, readyAt: 0 }, stamp())],
    ['release', (task: RunningTask) => q.tasks.release(claimOf(task), stamp())],
    ['snooze', (task: RunningTask) => q.tasks.snooze(claimOf(task), 0, stamp())],
    ['a takeover', (task: RunningTask) => q.tasks.takeOver(task, 'another', stamp())],
  ])('%s of the head goes on to block its followers', async (_verb, end) => {
    await enqueueEach('a', 'b');
    await end(await run('a'));

    expect(await isHeld('b')).toBe(true);
    expect((await claim('b')).kind).toBe('refused');
  });

  test('keeps followers waiting during all retries of the head, and continues when it is dead', async () => {
    const order: string[] = [];
    const work = defineTask({
      name: 'work',
      retry: { maxAttempts: 3, backoff: '20ms' },
      run({ id }: { id: string }, { attempt }: TaskContext) {
        order.push(`${id}${attempt}`);
        if (id === 'a') throw new Error('the customer does not answer');
      },
    });
    await enqueueEach('a', 'b');

    for (let look = 0; look < 20 && (await get('b'))?.state !== 'done'; look++) {
      await q.work({ work });
      await q.runtime.clock.sleep(30);
    }

    expect(order).toEqual(['a1', 'a2', 'a3', 'b1']);
    expect(await get('a')).toMatchObject({ state: 'dead' });
  });

  test('reruns a head whose worker crashed before its followers', async () => {
    const order: string[] = [];
    const work = defineTask({ name: 'work', run: ({ id }: { id: string }) => void order.push(id) });
    await enqueueEach('a', 'b');
    await claim('a', 'a session that is not there any more');

    await q.work({ work });

    expect(order).toEqual(['a', 'b']);
  });

  test('waits behind a head that is not due yet', async () => {
    await enqueue('a', { delay: '1h' });
    await enqueue('b');

    expect(await proposed()).toEqual([]);
    await q.operator.reschedule('a', { delay: '0s' });
    expect(await proposed()).toEqual(['a']);
  });

  test('keeps the place of a task that was cancelled before its turn, until its turn has been passed', async () => {
    await enqueueEach('a');
    await enqueue('b', { delay: '1h' });
    await enqueueEach('c');
    const head = await run('a');

    expect(await q.operator.cancel('b')).toEqual({ kind: 'cancelled' });
    expect(await get('b')).toMatchObject({ state: 'cancelled', isInLine: true });
    await q.tasks.complete(claimOf(head), null, stamp());
    expect((await claim('c')).kind).toBe('refused');

    await q.work({ work: defineTask({ name: 'work', run: () => undefined }) });
    expect(await get('b')).toMatchObject({ state: 'cancelled', isInLine: false });
    expect(await get('c')).toMatchObject({ state: 'done' });
  });

  test('a task that was cancelled before its turn keeps its ticket when it is made ready again', async () => {
    await enqueueEach('a', 'b', 'c');
    await q.operator.cancel('b');
    const { links } = (await get('b')) ?? {};

    await expect(enqueue('b', { key: 'customer-2', window: '1ms' })).rejects.toThrow('has kept its place');
    await q.operator.retry('b');

    expect(await get('b')).toMatchObject({ state: 'ready', links });
    await q.tasks.complete(claimOf(await run('a')), null, stamp());
    await q.tasks.complete(claimOf(await run('b')), null, stamp());
    expect((await claim('c')).kind).toBe('applied');
  });

  test('passes the turn when a waiting head is cancelled or expires', async () => {
    await enqueue('a');
    await enqueue('b', { expires: '1ms' });
    await enqueue('c');

    expect(await q.operator.cancel('a')).toEqual({ kind: 'cancelled' });
    await q.runtime.clock.sleep(5);
    const report = await q.work({ work: defineTask({ name: 'work', run: () => undefined }) });

    expect(report).toMatchObject({ expired: 1, settled: { done: 1 } });
    expect(await get('c')).toMatchObject({ state: 'done' });
  });

  test('stops at a task that was removed by hand, until its turn is passed', async () => {
    await enqueueEach('a', 'b', 'c');
    const head = await run('a');
    const { client, table } = open();
    await DynamoDBDocumentClient.from(client).send(
      new DeleteCommand({ TableName: table, Key: { ...taskKey(q.queue, 'b') } }),
    );

    await q.tasks.complete(claimOf(head), null, stamp());
    expect((await claim('c')).kind).toBe('refused');
    const line = await q.operations.getLine(q.queue, 'customer-1');
    if (line === undefined) throw new Error('no line');
    const turn = { observed: line, to: line.turn + 1 };
    const pass = () => q.operations.passLine(q.queue, 'customer-1', turn, stamp());

    expect([(await pass()).kind, (await pass()).kind]).toEqual(['applied', 'refused']);
    await q.tasks.complete(claimOf(await run('c')), null, stamp());
    await enqueue('d');
    expect((await claim('d')).kind).toBe('applied');
  });

  test('keeps the turn of a rescheduled waiting task, whatever its priority', async () => {
    await enqueueEach('a', 'b');

    await q.operator.reschedule('b', { priority: 'high', delay: '0s' });

    expect(await isHeld('b')).toBe(true);
    await q.tasks.complete(claimOf(await run('a')), null, stamp());
    expect(await proposed('high')).toEqual(['b']);
  });

  test('appends a retried task at the end', async () => {
    await enqueueEach('a', 'b');
    await q.tasks.discard(claimOf(await run('a')), ERROR, stamp());

    await q.operator.retry('a');

    expect(await isHeld('a')).toBe(true);
    await q.tasks.complete(claimOf(await run('b')), null, stamp());
    expect((await claim('a')).kind).toBe('applied');
  });

  test('appends a task whose id is reused after its window', async () => {
    await enqueue('a');
    await q.tasks.complete(claimOf(await run('a')), null, stamp());
    await enqueue('b');
    await q.runtime.clock.sleep(5);

    expect(await enqueue('a', { window: '1ms' })).toMatchObject({ created: true });

    expect(await isHeld('a')).toBe(true);
    await q.tasks.complete(claimOf(await run('b')), null, stamp());
    expect((await claim('a')).kind).toBe('applied');
  });

  test('changes nothing when the same id is enqueued again', async () => {
    await enqueueEach('a', 'b', 'b', 'a');

    await q.tasks.complete(claimOf(await run('a')), null, stamp());
    await q.tasks.complete(claimOf(await run('b')), null, stamp());

    await enqueue('c');
    expect(await isHeld('c')).toBe(false);
  });

  test('accepts children of a batch in a line', async () => {
    const child = defineTask({ name: 'child', run: () => undefined });
    const callback = defineTask({ name: 'callback', run: () => undefined });
    const bad = defineTask({ name: 'bad', run: () => Promise.reject(new DoNotRetry('no')) });
    const inOrder = { key: 'k', ordered: true };
    const children = [spawn(child, {}, inOrder), spawn(bad, {}, inOrder), spawn(child, {}, inOrder)];
    await q.client.enqueueBatch(children, { id: 'b', then: spawn(callback, {}) });

    await q.work({ child, callback, bad });

    expect(await q.client.getBatch('b')).toMatchObject({ pending: 0, done: 2, dead: 1 });
    expect(await get('b/then')).toMatchObject({ state: 'done' });
  });

  test('counts a child that is cancelled before its turn at once, and not again when its turn is passed', async () => {
    const child = defineTask({ name: 'child', run: () => undefined });
    const children = ['c1', 'c2', 'c3'].map((id) => spawn(child, {}, { id, key: 'k', ordered: true }));
    await q.client.enqueueBatch(children, { id: 'b', then: spawn(child, {}) });

    await q.operator.cancel('c2');
    expect(await q.client.getBatch('b')).toMatchObject({ pending: 2, done: 0 });
    await q.work({ child });

    expect(await q.client.getBatch('b')).toMatchObject({ pending: 0, done: 2 });
    expect(await get('c2')).toMatchObject({ state: 'cancelled', isInLine: false });
    expect(await get('b/then')).toMatchObject({ state: 'done' });
  });

  test('reads a line once for all of its tasks that end here, and again if another process has passed a turn', async () => {
    await enqueueEach('a', 'b', 'c', 'd', 'e');
    const readUnits = () => q.meter.read().readUnits;
    const end = async (id: string, beforeEnd?: () => Promise<unknown>): Promise<number> => {
      const task = await run(id);
      await beforeEnd?.();
      const before = readUnits();
      expect((await q.tasks.complete(claimOf(task), null, stamp())).kind).toBe('applied');
      return readUnits() - before;
    };
    const passByHand = async (): Promise<void> => {
      const observed = await q.operations.getLine(q.queue, 'customer-1');
      if (observed === undefined) throw new Error('no line');
      await q.operations.passLine(q.queue, 'customer-1', { observed, to: observed.turn + 1 }, stamp());
    };

    expect([await end('a'), await end('b')]).toEqual([1, 0]);
    await end('c', passByHand);
    expect(await isHeld('e')).toBe(true);
    expect([await end('d'), await isHeld('e')]).toEqual([0, false]);
    // Nobody waits behind the last one, so the line may expire.
    expect(await end('e')).toBe(1);
  });

  test('units: enqueue 5, claim 1, completion 5, whether others wait or not', async (context) => {
    context.skip(open().engine === 'dynamodb-local', 'it charges transactions as if they were none');
    const spent = async (work: () => Promise<unknown>): Promise<number> => {
      const before = q.meter.read().writeUnits;
      await work();
      return q.meter.read().writeUnits - before;
    };

    expect(await spent(() => enqueue('a'))).toBe(5);
    expect(await spent(() => enqueue('b'))).toBe(5);
    expect(await spent(() => claim('a'))).toBe(1);
    const a = (await get('a')) as RunningTask;
    expect(await spent(() => q.tasks.complete(claimOf(a), null, stamp()))).toBe(5);
    const b = await run('b');
    expect(await spent(() => q.tasks.complete(claimOf(b), null, stamp()))).toBe(5);
  });

  test.each([
    ['order without a key', { key: undefined }, 'ordered requires a key'],
    ['order beside a limit', { limit: 2 }, 'one task at a time'],
    ['order that replaces', { onDuplicate: 'replace' }, 'two places'],
    ['order that is not a truth', { ordered: 'yes' }, 'must be true or false'],
  ])('refuses %s before anything is written', async (_what, options, message) => {
    const enqueuing = enqueue('a', options as unknown as EnqueueOptions);

    await expect(enqueuing).rejects.toThrow(ConfigurationError);
    await expect(enqueuing).rejects.toThrow(message);
    expect(await get('a')).toBeUndefined();
  });
});
