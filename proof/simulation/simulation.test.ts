/** The short budget of the simulation: what every commit runs. The long ones run from the command line. */
import { describe, expect, test } from 'vitest';
import { runMany } from './run-many.ts';
import { runSeed } from './run-seed.ts';
import type { BatchMessage } from './tally.ts';

/** The same on every machine: about a dozen seconds of a core. `npm run simulate -- --histories 700` has the rest. */
const HISTORIES = 25;

/**
 * A summary of the histories. A rule reports only errors; this shows any other difference: another request, write, time or outcome.
 * If only a digest differs, `node proof/simulation/digest.ts SEED events` on both commits shows the event.
 */
function ledgerOf({ seen, nearest, traces }: BatchMessage): string {
  return [
    'seed  requests  writes  digest of all events',
    ...traces.map(({ seed, requests, accepted, digest }) =>
      [String(seed).padStart(4), String(requests).padStart(8), String(accepted).padStart(6), digest].join('  '),
    ),
    '',
    'what was nearest to its bound',
    ...sorted(nearest).map(([rule, { amount, bound }]) => `${rule}  ${amount.toFixed(1)} of ${bound.toFixed(1)}`),
    '',
    'what happened',
    ...sorted(seen).map(([what, count]) => `${String(count).padStart(6)}  ${what}`),
    '',
  ].join('\n');
}

function sorted<T>(map: ReadonlyMap<string, T>): (readonly [string, T])[] {
  return [...map].sort(([one], [other]) => (one < other ? -1 : 1));
}

describe('the protocol', () => {
  test(`holds in ${HISTORIES} histories`, async () => {
    const tally = await runMany({ histories: HISTORIES, minutes: Infinity, from: 1n, profile: 'mix', workers: 1 });

    expect(
      tally.failures.map(({ seed, violation }) => `seed ${seed}: ${violation.invariant} ${violation.message}`),
    ).toEqual([]);
    expect(tally.shortcomings()).toEqual([]);
    // After an intended change of behaviour: `npx vitest run proof/simulation/simulation.test.ts -u`, and read the difference.
    await expect(ledgerOf(tally.total)).toMatchFileSnapshot('./histories.golden.txt');
  });
});

describe('a seed', () => {
  test('gives another history than the next', async () => {
    const one = await runSeed(1n, 'calm');
    const other = await runSeed(2n, 'calm');

    expect(one.digest).not.toBe(other.digest);
  });
});
