/** The long budget of the simulation. `npm run simulate -- --histories N` is the same by hand. */
import { expect, test } from 'vitest';
import { runMany } from './run-many.ts';

const HISTORIES = 20_000;
/** What counts as enough on a machine that does other things as well. */
const LEAST_HISTORIES = 8_000;
const MINUTES = 20;

test(
  `the protocol holds in ${HISTORIES} histories, or as many as fit in ${MINUTES} minutes`,
  { timeout: (MINUTES + 2) * 60_000 },
  async () => {
    const tally = await runMany({ histories: HISTORIES, minutes: MINUTES, from: 100_000n, profile: 'swarm' });

    expect(
      tally.failures.map(({ seed, violation }) => `seed ${seed}: ${violation.invariant} ${violation.message}`),
    ).toEqual([]);
    expect(tally.shortcomings()).toEqual([]);
    expect(tally.total.histories).toBeGreaterThanOrEqual(LEAST_HISTORIES);
  },
);
