/** A worker dies at each step of a pack's run, before it is taken and after: another one finishes, and no item is lost or done twice. */
import { describe, expect, test } from 'vitest';
import { MEMORY_TTL_MS, openMemoryQueue } from '../../../support/memory-queue.ts';
import type { Death } from '../../../support/mortal.ts';
import { Mortal } from '../../../support/mortal.ts';
import { DEEDS, FULFILLED, Life } from './life.ts';

/** Lives one life, whose first workers die as told. */
async function live(deaths: readonly Death[]) {
  const q = openMemoryQueue();
  const life = new Life(q);
  await life.enqueue();
  const repeated: number[] = [];
  const steps: number[] = [];
  const work = async (death?: Death): Promise<void> => {
    const recorded = await life.recorded();
    const begunBefore = life.begun.length;
    life.process = new Mortal(death);
    await q.work({ life: life.task }, { process: life.process });
    steps.push(life.process.steps);
    repeated.push(...life.begun.slice(begunBefore).filter((n) => recorded.includes(n)));
    await q.clock.advance(MEMORY_TTL_MS + 1_000);
  };
  for (const death of deaths) await work(death);
  for (let more = 0; more < 5 && !(await life.isDrained()); more++) await work();
  return { life, steps: steps[0] ?? 0, repeated };
}

const CALM = await live([]);
const DEATHS = Array.from({ length: CALM.steps }, (_, index) => index + 1).flatMap((step) =>
  (['before', 'after'] as const).map((how) => ({ step, how })),
);

describe('a pack whose worker dies', () => {
  test('is completed by another worker', async () => {
    expect(await CALM.life.outcome()).toEqual(FULFILLED);
    expect(CALM.steps).toBeGreaterThan(40);
  });

  test.each(DEATHS)('$how step $step loses nothing, and repeats nothing that was recorded', async (death) => {
    const { life, repeated } = await live([death]);

    expect(await life.outcome()).toEqual(FULFILLED);
    expect(await life.isDrained()).toBe(true);
    expect(repeated).toEqual([]);
    // One death repeats each item at most once, in addition to planned second attempts.
    const runs = DEEDS.map((_, n) => life.begun.filter((begun) => begun === n).length);
    expect(Math.max(...runs)).toBeLessThanOrEqual(3);
  });

  test('repeatedly loses nothing, and repeats no recorded item', async () => {
    for (let first = 3; first <= CALM.steps; first += 4) {
      for (let second = 3; second <= CALM.steps; second += 5) {
        const deaths = [first, second, second + 7].map((step) => ({ step, how: 'after' }) as const);
        const { life, repeated } = await live(deaths);
        const outcome = await life.outcome();

        expect({ first, second, outcome, repeated }).toEqual({ first, second, outcome: FULFILLED, repeated: [] });
        expect(await life.isDrained()).toBe(true);
      }
    }
  });
});
