/** The short budget of the simulation: what every commit runs. The long ones run from the command line. */
import { describe, expect, test } from 'vitest';
import { runMany } from './run-many.ts';
import { runSeed } from './run-seed.ts';

/** The same on every machine: about a dozen seconds of a core. `npm run simulate -- --histories 700` has the rest. */
const HISTORIES = 25;

describe('the protocol', () => {
  test(`holds in ${HISTORIES} histories`, async () => {
    const tally = await runMany({ histories: HISTORIES, minutes: Infinity, from: 1n, profile: 'mix', workers: 1 });

    expect(
      tally.failures.map(({ seed, violation }) => `seed ${seed}: ${violation.invariant} ${violation.message}`),
    ).toEqual([]);
    expect(tally.shortcomings()).toEqual([]);
  });
});

describe('a seed', () => {
  test('gives another history than the next', async () => {
    const one = await runSeed(1n, 'calm');
    const other = await runSeed(2n, 'calm');

    expect(one.digest).not.toBe(other.digest);
  });
});
