/** `task.each`: many small items in one task, whose record is the task's progress. */

import { describe, expect, test } from 'vitest';
import { ITEMS_LIMIT } from '../../../../shared/tasks/run/each.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { DoNotRetry, HandedBackError, RetryAfter } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';
import type { Items } from './each-items.ts';
import { RETRY, numbers, openItems } from './each-items.ts';

describe('runs', () => {
  test('the items one after the other, and returns what they returned', async () => {
    let atWork = 0;
    const { q, task, add, found } = openItems(async (n) => {
      expect(++atWork).toBe(1);
      await q.clock.sleep(10);
      atWork--;
      return n === 1 ? undefined : { n };
    });
    await add(numbers(3));

    await q.work({ task });

    expect(await found()).toMatchObject({ state: 'done', result: [{ n: 0 }, null, { n: 2 }], attempts: 1 });
  });

  test('as many items at once as it may', async () => {
    let [atWork, most] = [0, 0];
    const { q, task, add, found } = openItems(
      async () => {
        most = Math.max(most, ++atWork);
        await q.clock.sleep(10);
        atWork--;
      },
      { concurrency: 3 },
    );
    await add(numbers(10));

    await q.work({ task });

    expect(most).toBe(3);
    expect(await found()).toMatchObject({ state: 'done' });
  });
});

describe('an item that throws', () => {
  test('does not stop the others, and runs again alone', async () => {
    const runs: number[] = [];
    const { q, task, add, found } = openItems((n) => {
      runs.push(n);
      if ((n === 1 || n === 3) && runs.filter((ran) => ran === n).length < 3) throw new TypeError(`not ${n}`);
      return n;
    });
    await add(numbers(5));

    await q.work({ task });

    expect(runs).toEqual([0, 1, 2, 3, 4, 1, 3, 1, 3]);
    expect(await found()).toMatchObject({
      state: 'done',
      attempts: 3,
      result: [0, 1, 2, 3, 4],
      lastError: { name: 'AggregateError', message: '2 of 5 items failed (1, 3): 1: not 1; 3: not 3' },
    });
  });

  test.each([
    ['DoNotRetry, and then the others', (n: number) => new (n === 1 ? DoNotRetry : Error)(`not ${n}`), [1, 3, 3, 3]],
    ['DoNotRetry, all of them', (n: number) => new DoNotRetry(`not ${n}`), [1, 3]],
  ])('runs never again after %s', async (_what, error, runs) => {
    const failed: number[] = [];
    const { q, task, add, found, states } = openItems((n) => {
      if (n % 2 === 0 || failed.length === 4) return;
      failed.push(n);
      throw error(n);
    });
    await add(numbers(4));

    await q.work({ task });

    expect(failed).toEqual(runs);
    expect(await found()).toMatchObject({ state: 'dead', lastError: { name: 'DoNotRetry' } });
    expect(await states()).toMatch(/^dxd[dx]$/);
  });

  test('says when the attempt is tried again', async () => {
    const { q, task, add, found } = openItems((n, { attempt }) => {
      if (n > 0 && attempt === 1) throw n === 1 ? new RetryAfter('10m', 'later') : new Error('soon');
    });
    await add(numbers(3));
    const [began, working] = [q.clock.now(), q.start({ task }, { lingerMs: 3_600_000 })];
    await q.clock.advance(599_000);
    expect(await found()).toMatchObject({ state: 'ready', readyAt: expect.closeTo(began + 600_000, -3) as unknown });
    await q.clock.runUntil(working, () => true);

    expect(await found()).toMatchObject({ state: 'done' });
  });

  test('runs a given-up item once more when an operator retries the task', async () => {
    const runs: number[] = [];
    const work = defineTask({
      name: 'work',
      run: (items: Items, context) =>
        context.each(items, (n) => {
          if (runs.push(n) && n === 1 && runs.length < 4) throw new DoNotRetry('broken');
        }),
    });
    const kit = createTestKit({ tasks: { work } });
    await kit.tasks.enqueue(work, numbers(3), { id: 't' });
    await kit.drain();
    expect(await kit.tasks.get('t')).toMatchObject({ state: 'dead' });

    await kit.leasehold.operator.retry('t');
    await kit.drain();

    expect(await kit.tasks.get('t')).toMatchObject({ state: 'done' });
    expect(runs).toEqual([0, 1, 2, 1]);
  });
});

describe('a worker that must stop', () => {
  test('begins no item, and hands back what has not ended', async () => {
    const handBack = new AbortController();
    const runs: number[] = [];
    const { q, task, add, found, states } = openItems(async (n, { signal }) => {
      runs.push(n);
      if (n === 2 && runs.length < 4) {
        handBack.abort(new HandedBackError('deadline'));
        signal.throwIfAborted();
      }
      await q.clock.sleep(10);
      return n;
    });
    await add(numbers(5));

    await q.work({ task }, { handBack: handBack.signal });
    expect(runs).toEqual([0, 1, 2]);
    expect(await found()).toMatchObject({ state: 'ready', attempts: 0 });
    expect(await states()).toBe('dd---');
    await q.work({ task });

    expect(runs).toEqual([0, 1, 2, 2, 3, 4]);
    expect(await found()).toMatchObject({ state: 'done', result: [0, 1, 2, 3, 4] });
  });
});

test.each([
  ['snoozes', 2, (task: TaskContext) => task.snooze(0)],
  ['fails', 2, () => Promise.reject(new Error('afterwards'))],
  ['commits', 1, (task: TaskContext) => task.commit()],
] as const)('does not run the items again if the task %s afterwards', async (_what, attempts, end) => {
  const runs: number[] = [];
  let ends = 0;
  const { q, task, add, found } = openItems(
    (n) => runs.push(n),
    { results: false },
    (_results, context) => (ends++ === 0 ? end(context) : undefined),
  );
  await add(numbers(4));

  await q.work({ task });

  expect(await found()).toMatchObject({ state: 'done' });
  expect([runs.length, ends]).toEqual([4, attempts]);
});

describe('results', () => {
  const text = (n: number): string => String(n).repeat(1_000);

  test('end the task above 4 KB, and keep ended items', async () => {
    const { q, task, add, found, states } = openItems(text);
    await add(numbers(6));

    await q.work({ task });

    expect(await states()).toBe('ddddd-');
    expect(await found()).toMatchObject({
      state: 'dead',
      attempts: 1,
      lastError: { name: 'DoNotRetry', message: expect.stringContaining('pass results: false') as unknown },
    });
  });

  test('without a form in JSON end the task', async () => {
    const { q, task, add, found } = openItems(() => () => 'code');
    await add(numbers(2));

    await q.work({ task });

    expect(await found()).toMatchObject({ state: 'dead', lastError: { name: 'DoNotRetry' } });
  });
});

describe('refuses', () => {
  const messageOf = async (run: (task: TaskContext) => Promise<unknown>): Promise<string> => {
    let message = '';
    const work = defineTask({
      name: 'work',
      run: (_: null, task) => run(task).catch((error: unknown) => (message = String(error))),
    });
    const kit = createTestKit({ tasks: { work } });
    await kit.tasks.enqueue(work);
    await kit.drain();
    return message;
  };
  const pass = (): undefined => undefined;

  test.each<[string, (task: TaskContext) => Promise<unknown>, string]>([
    ['no list', (task) => task.each('abc' as never, pass), '4000 items, not "abc"'],
    ['too many items', (task) => task.each(numbers(ITEMS_LIMIT + 1), pass), 'not 4001'],
    ['no code', (task) => task.each([1], 'run' as never), 'run is "run": must be a function'],
    ['another option', (task) => task.each([1], pass, { flush: 1 } as never), 'unknown option "flush"'],
    ['no duration', (task) => task.each([1], pass, { flushInterval: 'soon' as never }), 'flushInterval = "soon"'],
    ['no item at once', (task) => task.each([1], pass, { concurrency: 0 }), 'concurrency = 0'],
    ['no answer whether', (task) => task.each([1], pass, { results: 'all' as never }), 'results = "all"'],
    [
      'a second list',
      async (task) => [await task.each([1], pass), await task.each([1], pass)],
      'has called each already',
    ],
    [
      'progress besides',
      (task) => task.each([1], pass).then(() => task.saveProgress(1)),
      'each or saveProgress, not both',
    ],
    [
      'items beside progress',
      (task) => task.saveProgress(1).then(() => task.each([1], pass)),
      'each or saveProgress, not both',
    ],
  ])('%s', async (_what, run, message) => {
    expect(await messageOf(run)).toContain(message);
  });

  test.each([
    ['other items than before', { each: 'dd-' }, 'began with 3 items and has 2 now'],
    ['the progress of other code', 'half', 'each or saveProgress, not both'],
  ])('what an earlier attempt has left: %s', async (_what, left, message) => {
    const work = defineTask({
      name: 'work',
      retry: RETRY,
      run: async (_: null, context) => {
        if (context.progress === undefined) {
          await context.saveProgress(left);
          throw new Error('first');
        }
        return context.each([1, 2], pass).catch(String);
      },
    });
    const kit = createTestKit({ tasks: { work } });
    await kit.tasks.enqueue(work, null, { id: 't' });
    await kit.drain();

    expect(await kit.tasks.get('t')).toMatchObject({
      state: 'done',
      result: expect.stringContaining(message) as unknown,
    });
  });
});
