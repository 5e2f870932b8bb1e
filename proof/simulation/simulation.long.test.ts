/** The long budget of the simulation. `npm run simulate -- --histories N` is the same by hand. */
import { expect, test } from 'vitest';
import { runMany } from './run-many.ts';

const HISTORIES = 20_000;
const MINUTES = 15;
/** The minimum to count as enough: two slow cores run this many in that time, and a busy machine takes longer. */
const LEAST_HISTORIES = 6_000;
const LONGEST_MINUTES = 90;

test(
  `the protocol holds in ${HISTORIES} histories, or as many as fit in ${MINUTES} minutes`,
  { timeout: LONGEST_MINUTES * 60_000 },
  async () => {
    const tally = await runMany({
      histories: HISTORIES,
      minutes: MINUTES,
      least: LEAST_HISTORIES,
      from: 100_000n,
      profile: 'swarm',
    });

    expect(
      tally.failures.map(({ seed, violation }) => `seed ${seed}: ${violation.invariant} ${violation.message}`),
    ).toEqual([]);
    expect(tally.shortcomings()).toEqual([]);
    expect(tally.total.histories).toBeGreaterThanOrEqual(LEAST_HISTORIES);
  },
);
