import { describe, expect, inject, test } from 'vitest';
import { WITHIN_BOUND } from './profile.ts';
import { runChaos } from './run.ts';

const endpoint = inject('dynamodbLocalEndpoint') ?? inject('embeddedEndpoint');
/** Long enough for workers to be killed with tasks in their hands, and for those to be taken over. */
const MINUTES = 0.25;
/** A machine with much else to do needs longer until each has happened: a run in which nothing happens shows nothing at all. */
const LONGEST_MINUTES = 8;
const TIMEOUT_MS = 20 * 60_000;

describe.skipIf(endpoint === null)('workers that are killed and frozen behind a faulty network', () => {
  test(
    'lose nothing, run nothing twice and keep their promises, while naive code does not',
    { timeout: TIMEOUT_MS },
    async () => {
      const result = await runChaos({
        endpoint: endpoint ?? '',
        minutes: MINUTES,
        longestMinutes: LONGEST_MINUTES,
        seed: 5n,
        profile: WITHIN_BOUND,
      });

      expect(Object.entries(result.violations).filter(([, cases]) => cases.length > 0)).toEqual([]);
      expect(result.healedSeconds).not.toBeNull();
      // How much happens is the machine's business.
      expect(result.figures.done).toBeGreaterThan(0);
      expect(result.figures.acquires).toBeGreaterThan(0);
      expect(result.figures.acknowledgedUpdates).toBeGreaterThan(0);
      expect(result.figures.processFaults).toBeGreaterThan(0);
      expect(result.figures.ambiguousOutcomes).toBeGreaterThan(0);
    },
  );
});
