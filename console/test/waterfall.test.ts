/** The console's bars of a task's time, without a page: rows as the shipped code writes them. */
import { expect, test } from 'vitest';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import { RetryAfter } from '../../shared/tasks/task/control.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { TestKit } from '../../shared/testing/kit.ts';
import { createTestKit } from '../../shared/testing/kit.ts';

interface Waterfall {
  readonly from: number;
  readonly until: number;
  readonly rows: number;
  readonly bars: readonly {
    readonly kind: string;
    readonly from: number;
    readonly until: number;
    readonly row: number;
    readonly attempt?: { readonly how: string };
  }[];
}
const module = (await import(new URL('../page/waterfall.js', import.meta.url).href)) as {
  readonly waterfallOf: (task: TaskRecord, now: number) => Waterfall;
};

/** Bars in seconds since the enqueueing. */
async function drawn(kit: TestKit): Promise<readonly (readonly [string, number, number, number])[]> {
  const task = await kit.tasks.get('t');
  if (task === undefined) throw new Error('the task is gone');
  const since = (at: number): number => Math.round((at - task.createdAt) / 1_000);
  const { bars } = module.waterfallOf(task, kit.clock.now());
  return bars.map(({ kind, attempt, from, until, row }) => [attempt?.how ?? kind, since(from), since(until), row]);
}

function kitOf(run: (attempt: number) => Promise<void> | void): TestKit {
  const work = defineTask({ name: 'work', retry: { maxAttempts: 20 }, run: (_: unknown, task) => run(task.attempt) });
  return createTestKit({ tasks: { work } });
}

test('a task that waits has its delay and its wait', async () => {
  const kit = kitOf(() => undefined);
  await kit.tasks.enqueue('work', {}, { id: 't', delay: '10s' });
  expect(await drawn(kit)).toEqual([['delay', 0, 10, 0]]);

  await kit.advance('25s');
  expect(await drawn(kit)).toEqual([
    ['delay', 0, 10, 0],
    ['wait', 10, 25, 0],
  ]);
});

test('attempts follow one another, with the time between them in which no worker had the task', async () => {
  const kit = kitOf(async (attempt) => {
    await kit.clock.advance(5_000);
    if (attempt === 1) throw new RetryAfter(30_000, 'not yet');
  });
  await kit.tasks.enqueue('work', {}, { id: 't' });
  await kit.advance('10s');
  await kit.drain();
  expect(await drawn(kit)).toEqual([
    ['unclaimed', 0, 10, 0],
    ['failed', 10, 15, 0],
    ['delay', 15, 45, 1],
  ]);

  await kit.advance('40s');
  await kit.drain();
  expect(await drawn(kit)).toEqual([
    ['unclaimed', 0, 10, 0],
    ['failed', 10, 15, 0],
    ['unclaimed', 15, 55, 1],
    ['done', 55, 60, 1],
  ]);
});

test('ends a crashed attempt at the takeover, without a wait in between', async () => {
  const kit = kitOf(() => undefined);
  await kit.tasks.enqueue('work', {}, { id: 't' });
  await kit.crash('beforeRun');
  await kit.advance('60s');
  await kit.drain();

  expect(await drawn(kit)).toEqual([
    ['died', 0, 60, 0],
    ['done', 60, 60, 1],
  ]);
});

test('a row that has forgotten its first attempts is drawn from the first that it knows', async () => {
  const kit = kitOf((attempt) => {
    if (attempt < 8) throw new RetryAfter(10_000, 'not yet');
  });
  await kit.tasks.enqueue('work', {}, { id: 't' });
  for (let n = 0; n < 8; n++) {
    await kit.drain();
    await kit.advance('10s');
  }

  const bars = await drawn(kit);
  expect(bars.filter(([kind]) => kind === 'failed')).toHaveLength(4);
  expect(bars[0]?.slice(0, 2)).toEqual(['failed', 30]);
  expect(bars.at(-1)?.[0]).toBe('done');
});

test('shows the wait of a task cancelled before it began', async () => {
  const kit = kitOf(() => undefined);
  await kit.tasks.enqueue('work', {}, { id: 't' });
  await kit.advance('5s');
  await kit.operator.cancel('t', { reason: 'no longer wanted' });
  await kit.advance('60s');

  expect(await drawn(kit)).toEqual([['unclaimed', 0, 5, 0]]);
});
