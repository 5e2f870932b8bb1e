/** The long budget of the simulation. `npm run simulate -- --histories N` is the same by hand. */
import { expect, test } from 'vitest';
import { runMany } from './run-many.ts';
import { seedOfCommit } from './seed-of-commit.ts';

const HISTORIES = 20_000;
const MINUTES = 15;
/** The minimum to count as enough: two slow cores run this many in that time, and a busy machine takes longer. */
const LEAST_HISTORIES = 6_000;
const LONGEST_MINUTES = 90;
/** Each commit has its own histories. A finding is a fault to mend, and its seed joins the regressions. */
const FROM = seedOfCommit();

test(
  `the protocol holds in ${HISTORIES} histories from seed ${FROM}, or as many as fit in ${MINUTES} minutes`,
  { timeout: LONGEST_MINUTES * 60_000 },
  async () => {
    const tally = await runMany({
      histories: HISTORIES,
      minutes: MINUTES,
      least: LEAST_HISTORIES,
      from: FROM,
      profile: 'mix',
    });

    expect(
      tally.failures.map(({ seed, violation }) => `seed ${seed}: ${violation.invariant} ${violation.message}`),
    ).toEqual([]);
    expect(tally.shortcomings()).toEqual([]);
    expect(tally.total.histories).toBeGreaterThanOrEqual(LEAST_HISTORIES);
  },
);
