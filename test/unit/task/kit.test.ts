/** The test kit as its users meet it: an example of each thing that it can do. */
import { expect, test } from 'vitest';
import { RetryAfter } from '../../../shared/task/control.ts';
import { defineTask } from '../../../shared/task/definition.ts';
import { spawn } from '../../../shared/task/request.ts';
import { createTestKit } from '../../../testing/kit.ts';

test('drain runs what is due, and what follows from it', async () => {
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

test('runOnce makes one attempt, and time passes only when the test says so', async () => {
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

test('runOnce leaves the other tasks alone', async () => {
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

test('schedules become tasks when their time has come', async () => {
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

test('operators’ tools are there too', async () => {
  const work = defineTask({ name: 'work', run: () => undefined });
  const kit = createTestKit({ tasks: { work } });
  await kit.tasks.enqueue(work, {}, { id: 'w', delay: '1h' });

  expect(await kit.operator.cancel('w')).toEqual({ kind: 'cancelled' });
});
