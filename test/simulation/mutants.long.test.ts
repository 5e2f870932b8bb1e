/** All seeded bugs. `npm run mutants` prints the table. */
import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { MUTANTS } from './mutations/all.ts';
import { huntAll, seedsTaken } from './mutations/hunt-all.ts';

const SEEDS = 2_000;
const MEDIAN_LIMIT = 50;
const MINUTES = 20;

test('every seeded bug is killed by the invariant named for it', { timeout: MINUTES * 60_000 }, async () => {
  const found = await huntAll(MUTANTS, { seeds: SEEDS, workers: availableParallelism() });

  expect([...found.values()].filter(({ killer }) => killer === null)).toEqual([]);
  const taken = seedsTaken(found);
  expect(taken[Math.floor(taken.length / 2)]).toBeLessThanOrEqual(MEDIAN_LIMIT);
});
