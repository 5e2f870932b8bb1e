/** The short budget of the simulation: what every commit runs. The long ones run from the command line. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runSeed } from './run-seed.ts';
import { Tally, emptyMessage, include } from './tally.ts';

/** The same on every machine: about a dozen seconds of a core. `npm run simulate -- --histories 700` has the rest. */
const HISTORIES = 25;

describe('the protocol', () => {
  test(`holds in ${HISTORIES} histories`, async () => {
    const stackTraceLimit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    const tally = new Tally();
    for (let seed = 1n; seed <= BigInt(HISTORIES); seed++)
      tally.add(include(emptyMessage(), await runSeed(seed, 'swarm', { stopAtViolation: true }), 1));
    Error.stackTraceLimit = stackTraceLimit;

    expect(
      tally.failures.map(({ seed, violation }) => `seed ${seed}: ${violation.invariant} ${violation.message}`),
    ).toEqual([]);
    expect(tally.shortcomings()).toEqual([]);
  });
});

describe('a seed', () => {
  test('gives the same history in two processes', () => {
    const script = fileURLToPath(new URL('./digest.ts', import.meta.url));
    const run = (): string => execFileSync(process.execPath, [script, '1', '2'], { encoding: 'utf8' });

    const digests = run();

    expect(digests.trim().split('\n')).toHaveLength(2);
    expect(run()).toBe(digests);
  });

  test('gives another history than the next', async () => {
    const one = await runSeed(1n, 'calm');
    const other = await runSeed(2n, 'calm');

    expect(one.digest).not.toBe(other.digest);
  });
});
