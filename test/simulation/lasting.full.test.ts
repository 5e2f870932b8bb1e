/** The worlds of their own, a few histories of each: no other tier draws them. `npm run simulate -- --profile NAME` has more. */
import { expect, test } from 'vitest';
import { LASTING } from './lasting.ts';
import { runMany } from './run-many.ts';

const HISTORIES = { hour: 2, row: 4, backlog: 3, flood: 10 };

test.each(LASTING)('the protocol holds in the world %s', { timeout: 600_000 }, async (profile) => {
  const tally = await runMany({ histories: HISTORIES[profile], minutes: Infinity, from: 1n, profile });

  expect(
    tally.failures.map(({ seed, violation }) => `seed ${seed}: ${violation.invariant} ${violation.message}`),
  ).toEqual([]);
  expect(tally.total.histories).toBe(HISTORIES[profile]);
});
