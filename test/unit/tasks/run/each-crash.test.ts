/** Workers that die at each step of their items: every item runs, and a recorded item does not run again. */
import { describe, expect, test } from 'vitest';
import type { EachOptions } from '../../../../shared/tasks/task/context.ts';
import { MEMORY_TTL_MS } from '../../../support/memory-queue.ts';
import type { Death } from '../../../support/mortal.ts';
import { Mortal } from '../../../support/mortal.ts';
import type { Items } from './each-items.ts';
import { numbers, openItems } from './each-items.ts';

/** Lives one life of ten items, whose first workers die as told; each item counts its runs. */
async function live(deaths: readonly Death[], options: EachOptions = {}) {
  let process = new Mortal();
  const runs = numbers(10).map(() => 0);
  const repeated: number[] = [];
  const { q, task, add, found, states } = openItems(async (n) => {
    if ((await states())?.[n] === 'd') repeated.push(n);
    await process.step(() => Promise.resolve(runs[n]!++));
    await q.clock.sleep(200);
    await process.step(() => Promise.resolve());
    if (n === 4 && runs[n] === 1) throw new Error('stumbled');
    return n;
  }, options);
  await add(numbers(10));
  const steps: number[] = [];
  const work = async (death?: Death): Promise<void> => {
    process = new Mortal(death);
    await q.work({ task }, { process });
    steps.push(process.steps);
    await q.clock.advance(MEMORY_TTL_MS + 1_000);
  };
  for (const death of deaths) await work(death);
  for (let more = 0; more < 5 && (await found()).state !== 'done'; more++) await work();
  return { task: await found(), runs, repeated, steps: steps[0] ?? 0 };
}

describe('a worker that dies', async () => {
  const calm = await live([]);
  const everywhere = numbers(calm.steps).flatMap((step) =>
    (['before', 'after'] as const).map((how): Death => ({ step: step + 1, how })),
  );

  test('is not needed', () => {
    expect(calm.task).toMatchObject({ state: 'done', attempts: 2 });
    expect(calm.steps).toBeGreaterThan(25);
  });

  test.each(everywhere)('$how step $step: the others run, and nothing that was recorded', async (death) => {
    const { task, runs, repeated } = await live([death]);

    expect(task).toMatchObject({ state: 'done', result: numbers(10) });
    expect(repeated).toEqual([]);
    // A death repeats the items of one flush, and one item stumbles once.
    expect(runs.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(10 + 1 + 4);
  });

  test('again and again: only an item at which two attempts died may count as failed', async () => {
    for (let step = 4; step < calm.steps; step += 5) {
      const deaths = [0, 1, 2].map((more) => ({ step: step + 2 * more, how: 'after' }) as const);
      const { task, repeated } = await live(deaths);

      expect(repeated).toEqual([]);
      if (task.state !== 'done')
        expect(task.progress).toMatchObject({ each: expect.stringMatching(/^d*2d*$/) as unknown });
    }
  });
});

describe('an item that kills its workers', () => {
  const die = async (poison: Items) => {
    let process = new Mortal();
    const runs: number[] = [];
    const { q, task, add, found, states } = openItems(async (n) => {
      runs.push(n);
      if (poison.includes(n)) await process.kill();
      await q.clock.sleep(10);
    });
    await add(numbers(6));
    const units: (number | undefined)[] = [];
    for (let lives = 0; lives < 6 && (await found()).state !== 'dead'; lives++) {
      const before = q.taskUnits()['task.progress'] ?? 0;
      process = new Mortal();
      await q.work({ task }, { process });
      units.push((q.taskUnits()['task.progress'] ?? 0) - before);
      await q.clock.advance(MEMORY_TTL_MS + 1_000);
    }
    return { runs, units, task: await found(), states: await states() };
  };

  test('costs three attempts, and the others end', async () => {
    const { task, runs, units, states } = await die([2]);

    expect(runs).toEqual([0, 1, 2, 0, 1, 2, 2, 3, 4, 5]);
    // The beginning of each item is recorded after a death, and what has ended when the attempt fails.
    expect(units).toEqual([0, 3, 1, 4]);
    expect(states).toBe('dd2ddd');
    expect(task).toMatchObject({
      state: 'dead',
      deaths: 3,
      lastError: { name: 'DoNotRetry', message: '1 of 6 items failed (2): 2: two attempts died at it' },
    });
  });
});
