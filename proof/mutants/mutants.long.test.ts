/** All seeded bugs. `npm run mutants` prints the table. */
import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { MUTANTS } from './all.ts';
import { huntAll, seedsTaken } from './hunt-all.ts';

const SEEDS = 2_000;
const MEDIAN_LIMIT = 50;
/** On two otherwise idle cores four minutes are enough (437 s of core time, 2026-11-21); the limit makes no claim about speed. */
const LONGEST_MINUTES = 90;

test('every seeded bug is killed by the invariant named for it', { timeout: LONGEST_MINUTES * 60_000 }, async () => {
  const found = await huntAll(MUTANTS, { seeds: SEEDS, workers: availableParallelism() });

  expect([...found.values()].filter(({ killer }) => killer === null)).toEqual([]);
  const taken = seedsTaken(found);
  expect(taken[Math.floor(taken.length / 2)]).toBeLessThanOrEqual(MEDIAN_LIMIT);
});
