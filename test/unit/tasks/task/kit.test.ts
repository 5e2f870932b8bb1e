/** The test kit as its users meet it: an example of each thing that it can do. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { RetryAfter } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';
import { MemoryPayloads } from '../../../../shared/testing/memory-payloads.ts';

test('ends endless code at its timeout or with its worker when time passes during the run', async () => {
  const never = () => Promise.race<never>([]);
  const timed = defineTask({ name: 'timed', timeout: '30s', retry: { maxAttempts: 1 }, run: never });
  const endless = defineTask({ name: 'endless', run: never });
  const kit = createTestKit({ tasks: { timed, endless } });
  await kit.tasks.enqueue(timed, null, { id: 't' });
  const begun = kit.clock.now();

  expect(await kit.drain({ timePasses: true })).toMatchObject({ settled: { dead: 1 } });
  expect((await kit.tasks.get('t'))?.lastError).toMatchObject({ name: 'TaskTimeoutError' });
  expect(kit.clock.now() - begun).toBeGreaterThanOrEqual(30_000);

  await kit.tasks.enqueue(endless);
  expect(await kit.drain({ timePasses: true })).toMatchObject({ ended: 'handedBack', settled: { released: 1 } });
  expect(kit.clock.now() - begun).toBeLessThanOrEqual(16 * 60_000);
});

test('names code that runs while time is stopped, and the option that lets it pass', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => {
    warned.mockRestore();
  });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stuck = defineTask({ name: 'stuck', run: () => promise });
  const kit = createTestKit({ tasks: { stuck } });
  await kit.tasks.enqueue(stuck, null, { id: 's' });

  const drained = kit.drain();
  await vi.waitFor(() => expect(warned).toHaveBeenCalled(), { timeout: 60_000, interval: 100 });
  resolve(undefined);

  expect((await drained).settled.done).toBe(1);
  expect(warned.mock.calls[0]?.[0]).toMatch(/waits for the code of stuck s, .* pass \{ timePasses: true \}$/);
});

test('drains due tasks and their follow-ups', async () => {
  const seen: unknown[] = [];
  const child = defineTask({ name: 'child', run: (input: unknown) => seen.push(input) });
  const parent = defineTask({
    name: 'parent',
    run: (_: unknown, task) => task.commit(1, [], { spawn: [spawn(child, 'hello')] }),
  });
  const kit = createTestKit({ tasks: { child, parent } });
  await kit.tasks.enqueue(parent, {}, { id: 'p' });

  const report = await kit.drain();

  expect(report.settled.done).toBe(2);
  expect(seen).toEqual(['hello']);
  expect(await kit.tasks.get('p')).toMatchObject({ state: 'done', result: 1 });
});

test('makes one attempt in runOnce, and advances time only when the test does', async () => {
  let calls = 0;
  const flaky = defineTask({
    name: 'flaky',
    run() {
      if (++calls < 3) throw new RetryAfter(60_000, 'not yet');
      return calls;
    },
  });
  const kit = createTestKit({ tasks: { flaky } });
  await kit.tasks.enqueue(flaky, {}, { id: 'f' });

  expect((await kit.runOnce()).settled.retried).toBe(1);
  expect((await kit.drain()).claimed).toBe(0);
  await kit.advance('61s');
  expect((await kit.runOnce()).settled.retried).toBe(1);
  await kit.advance('61s');
  await kit.drain();

  expect(await kit.tasks.get('f')).toMatchObject({ state: 'done', result: 3, attempts: 3 });
});

test('runs only one task in runOnce', async () => {
  const work = defineTask({ name: 'work', run: () => undefined });
  const kit = createTestKit({ tasks: { work } });
  for (const id of ['a', 'b', 'c']) await kit.tasks.enqueue(work, {}, { id });

  expect((await kit.runOnce()).settled.done).toBe(1);
  expect((await kit.drain()).settled.done).toBe(2);
});

test.each(['beforeRun', 'beforeSettle'] as const)(
  'a worker that dies %s leaves its task to the next, with a larger fencing token',
  async (point) => {
    const tokens: number[] = [];
    const work = defineTask({
      name: 'work',
      run: (_: unknown, task) => (tokens.push(task.fencingToken), task.commit(true)),
    });
    const kit = createTestKit({ tasks: { work } });
    await kit.tasks.enqueue(work, {}, { id: 'w' });

    await kit.crash(point);
    expect(await kit.tasks.get('w')).toMatchObject({ state: 'running' });
    expect((await kit.drain()).claimed).toBe(0);
    await kit.advance('1m');
    expect((await kit.drain()).takenOver).toBe(1);

    expect(await kit.tasks.get('w')).toMatchObject({ state: 'done', attempts: 2, past: [{ how: 'died' }] });
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
  },
);

test('turns schedules into tasks when they are due', async () => {
  const report = defineTask({ name: 'report', run: () => undefined });
  const kit = createTestKit({ tasks: { report }, startsAt: new Date('2026-06-01T07:00:00Z') });
  await kit.schedules.define('daily', report, {}, { cron: '0 9 * * *', zone: 'Europe/Berlin' });

  expect(await kit.tick()).toBe(0);
  await kit.advance('1h');
  expect(await kit.tick()).toBe(0);
  await kit.advance('23h');
  expect(await kit.tick()).toBe(1);
  expect((await kit.drain()).settled.done).toBe(1);
});

test("passes a schedule's input to its tasks, up to the largest that its row can store", async () => {
  const seen: unknown[] = [];
  const report = defineTask({ name: 'report', run: (input: unknown) => seen.push(input) });
  const kit = createTestKit({ tasks: { report } });
  const input = { text: 'x'.repeat(16 * 1024 - '{"text":""}'.length) };
  await kit.schedules.define('hourly', report, input, { cron: '0 * * * *' });

  await kit.advance('1h');
  await kit.tick();
  await kit.drain();

  expect(seen).toEqual([input]);
});

test('offers operators’ tools', async () => {
  const work = defineTask({ name: 'work', run: () => undefined });
  const kit = createTestKit({ tasks: { work } });
  await kit.tasks.enqueue(work, {}, { id: 'w', delay: '1h' });

  expect(await kit.operator.cancel('w')).toEqual({ kind: 'cancelled' });
});

test.each<readonly [verb: string, end: (task: TaskContext) => unknown]>([
  ['a result', () => 1],
  ['commit', (task) => task.commit(1)],
  ['snooze', (task) => task.snooze('1h')],
  ['waitFor', (task) => task.waitFor([])],
])('stores nothing of %s if the worker crashes before it', async (_verb, end) => {
  const work = defineTask({ name: 'work', run: (_: unknown, task) => end(task) as number });
  const kit = createTestKit({ tasks: { work } });
  await kit.tasks.enqueue(work, {}, { id: 'w' });

  await kit.crash('beforeSettle');

  expect(await kit.tasks.get('w')).toMatchObject({ state: 'running' });
});

test('leaves no work when a worker crashes after it has written the end', async () => {
  let calls = 0;
  const work = defineTask({ name: 'work', run: (_: unknown, task) => task.commit(++calls) });
  const kit = createTestKit({ tasks: { work } });
  await kit.tasks.enqueue(work, {}, { id: 'w' });

  await kit.crash('afterSettle');
  await kit.advance('1m');

  expect((await kit.drain()).claimed).toBe(0);
  expect(await kit.tasks.get('w')).toMatchObject({ state: 'done', result: 1 });
});

test('stores large inputs in the given payload store, and removes them with their tasks', async () => {
  const seen: number[] = [];
  const measure = defineTask({ name: 'measure', run: ({ text }: { text: string }) => void seen.push(text.length) });
  const payloads = new MemoryPayloads();
  const kit = createTestKit({ tasks: { measure }, payloads });
  for (const size of [10, 100_000, 1_000_000])
    await kit.tasks.enqueue(measure, { text: 'x'.repeat(size) }, { id: `t${size}` });
  expect(payloads.references).toHaveLength(1);

  await kit.drain();

  expect(seen.sort((a, b) => a - b)).toEqual([10, 100_000, 1_000_000]);
  expect(payloads.references).toEqual([]);
});

test('marks a task dead whose payload was deleted, and gives the reason', async () => {
  const measure = defineTask({ name: 'measure', run: () => undefined });
  const payloads = new MemoryPayloads();
  const kit = createTestKit({ tasks: { measure }, payloads });
  await kit.tasks.enqueue(measure, 'x'.repeat(1_000_000), { id: 't' });
  for (const reference of payloads.references) await payloads.delete(reference);

  await kit.drain();

  expect(await kit.tasks.get('t')).toMatchObject({ state: 'dead' });
  expect((await kit.tasks.get('t'))?.lastError?.message).toContain('is gone');
});

test('refuses large inputs without a payload store, as in production', async () => {
  const measure = defineTask({ name: 'measure', run: () => undefined });
  const kit = createTestKit({ tasks: { measure } });

  await expect(kit.tasks.enqueue(measure, 'x'.repeat(1_000_000))).rejects.toThrow(
    'pass a store for payloads to the client',
  );
});

test("names the missing table of a commit, not the tasks' table", async () => {
  const Item = { id: 'a' };
  const ship = defineTask({
    name: 'ship',
    run: (_: unknown, task) => task.commit(null, [{ Put: { TableName: 'reports', Item } }]),
  });
  const kit = createTestKit({ tasks: { ship } });
  await kit.tasks.enqueue(ship, null, { id: 't' });

  await kit.drain();

  const message = (await kit.tasks.get('t'))?.lastError?.message;
  expect(message).toContain('there is no table reports');
  expect(message).not.toMatch(/or reports|leasehold up/);
});

test("commits to the user's own tables, all or nothing", async () => {
  const order = (id: string) => ({ TableName: 'orders', Key: { id }, ConditionExpression: 'attribute_exists(id)' });
  const ship = defineTask({
    name: 'ship',
    retry: { maxAttempts: 1 },
    run: (id: string, task) =>
      task.commit(null, [
        {
          Update: {
            ...order(id),
            UpdateExpression: 'SET #state = :shipped',
            ExpressionAttributeNames: { '#state': 'state' },
            ExpressionAttributeValues: { ':shipped': 'shipped' },
          },
        },
      ]),
  });
  const kit = createTestKit({ tasks: { ship }, tables: [{ name: 'orders', partitionKey: 'id' }] });
  kit.put('orders', { id: 'a', state: 'new' });
  await kit.tasks.enqueue(ship, 'a', { id: 'known' });
  await kit.tasks.enqueue(ship, 'b', { id: 'unknown' });

  await kit.drain();

  expect(kit.rows('orders')).toEqual([{ id: 'a', state: 'shipped' }]);
  expect(await kit.tasks.get('known')).toMatchObject({ state: 'done' });
  expect(await kit.tasks.get('unknown')).toMatchObject({ state: 'dead', lastError: { name: 'CommitRefusedError' } });
});

test("hands running tasks back with their progress when the worker's time is over", async () => {
  const steps: number[] = [];
  const long = defineTask({
    name: 'long',
    async run(_: unknown, task) {
      for (let step = Number(task.progress ?? 0); step < 10; step++) {
        await kit.advance('10s'); // stands for work of the same duration
        task.signal.throwIfAborted();
        steps.push(step);
        await task.saveProgress(step + 1);
      }
    },
  });
  const kit = createTestKit({ tasks: { long } });
  await kit.tasks.enqueue(long, {}, { id: 'l' });

  expect(await kit.drain({ lifetime: '45s' })).toMatchObject({ ended: 'handedBack', settled: { released: 1 } });
  expect(await kit.tasks.get('l')).toMatchObject({ state: 'ready', attempts: 0, progress: 4 });
  expect(await kit.drain()).toMatchObject({ settled: { done: 1 } });

  expect(steps).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('uses the same table and clock for locks, semaphores and limits', async () => {
  const seen: string[] = [];
  const work = defineTask({
    name: 'work',
    async run() {
      await using session = await kit.leasehold.session({ ttl: '30s' });
      seen.push((await session.tryLock('printer')).kind);
    },
  });
  const kit = createTestKit({ tasks: { work } });
  await kit.tasks.enqueue(work, {});
  await kit.tasks.enqueue(work, {});

  await kit.drain();

  expect(seen).toEqual(['acquired', 'acquired']);
});

test("runs the handler's middleware and events", async () => {
  const seen: string[] = [];
  const work = defineTask({ name: 'work', run: () => void seen.push('run') });
  const kit = createTestKit({
    tasks: { work },
    middleware: [{ before: () => void seen.push('before'), after: () => void seen.push('after') }],
    events: { onSettled: (_task, settlement) => void seen.push(settlement) },
  });
  await kit.tasks.enqueue(work, {});

  await kit.drain();

  expect(seen).toEqual(['before', 'run', 'after', 'done']);
});

test.each<[string, () => unknown, string]>([
  ['no task at all', () => createTestKit({ tasks: {} }), 'no task found'],
  ['a concurrency of 0', () => createTestKit({ tasks, concurrency: 0 }), 'concurrency = 0: must be a whole number'],
  ['a start that is none', () => createTestKit({ tasks, startsAt: new Date('never') }), 'startsAt = Invalid Date'],
  ['a queue without a name', () => createTestKit({ tasks, queue: '' }), 'queue is empty'],
  ['a table without a key', () => createTestKit({ tasks, tables: [{ name: 't', partitionKey: '' }] }), 'is empty'],
  [
    'a table of its own name',
    () => createTestKit({ tasks, tables: [{ name: 'leasehold', partitionKey: 'id' }] }),
    "the kit's own",
  ],
  ['rows of no table', () => createTestKit({ tasks }).rows('orders'), 'there is no table "orders"'],
  ['a negative span', () => createTestKit({ tasks }).advance(-1), 'span = -1'],
  ['a negative life', () => createTestKit({ tasks }).drain({ lifetime: -1 }), 'lifetime = -1'],
  [
    'an unknown point',
    () => createTestKit({ tasks }).crash('never' as never),
    'crash = "never": must be one of beforeRun',
  ],
])('refuses %s', async (_what, act, message) => {
  // Some are refused at once, some with a promise.
  const refused = Promise.resolve().then(act);

  await expect(refused).rejects.toThrow(ConfigurationError);
  await expect(refused).rejects.toThrow(message);
});

const tasks = { work: defineTask({ name: 'work', run: () => undefined }) };
