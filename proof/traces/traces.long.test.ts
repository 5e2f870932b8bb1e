/** The long budget of the traces; needs Java, and is skipped without. `npm run spec:traces -- --histories N` is the same by hand. */
import { describe, expect, test } from 'vitest';
import { runSeed } from '../simulation/run-seed.ts';
import { seedOfCommit } from '../simulation/seed-of-commit.ts';
import { findTlc } from '../spec/tlc.ts';
import { rejectedOf } from './check.ts';
import { exportTraces } from './export.ts';

const tlc = findTlc(undefined);
const HISTORIES = 20;
const LONGEST_MINUTES = 20;

describe.skipIf(typeof tlc === 'string' && process.env.CI !== 'true')('histories of the shipped code', () => {
  // Those that a reader of proof/README.md runs, and some of each commit's own.
  test.each([1n, seedOfCommit()])(
    `are lives of rows that the specification allows: ${HISTORIES} from seed %s`,
    { timeout: LONGEST_MINUTES * 60_000 },
    async (first) => {
      if (typeof tlc === 'string') throw new Error(tlc);
      const exported = [];
      for (let n = 0n; n < HISTORIES; n++)
        exported.push(exportTraces(await runSeed(first + n, 'swarm', { keepHistory: true })));

      expect(await rejectedOf(tlc, exported)).toEqual([]);
    },
  );
});
