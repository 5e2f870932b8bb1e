/** The test kit as its users meet it: an example of each thing that it can do. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { RetryAfter } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

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
