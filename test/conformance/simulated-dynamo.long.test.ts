/**
 * The long comparison of the simulated store with real engines, with each of our drivers. `node test/conformance/compare.ts` is the manual
 * form.
 *
 * All drivers send the same programs, and each response is compared with the simulated store's.
 * Permitted divergences of engines are in `allowed-divergences.ts`, with the reason;
 * the drivers need each entry equally often, so no divergence comes from a driver.
 */
import { expect, inject, test } from 'vitest';
import { compareStores } from '../support/dynamo-programs/compare-stores.ts';

const OPERATIONS = 100_000;
const MINUTES = 60;
const endpoints = {
  'dynamodb-local': inject('dynamodbLocalEndpoint'),
  embedded: inject('embeddedEndpoint'),
};

test.skipIf(endpoints['dynamodb-local'] === null)(
  `the simulated store answers as the engines do, ${OPERATIONS} times by each driver`,
  { timeout: MINUTES * 60_000 },
  async () => {
    const needed: Record<string, number>[] = [];
    for (const driver of ['wire', 'client', 'fetch'] as const) {
      const report = await compareStores({ endpoints, operations: OPERATIONS, seed: 2, driver });

      expect(report.unexplained, `${driver}: ${report.text}`).toBeUndefined();
      expect(report.tally.compared).toBeGreaterThanOrEqual(0.9 * OPERATIONS);
      needed.push({ compared: report.tally.compared, ...Object.fromEntries(report.tally.allowed) });
    }
    expect(needed[1]).toEqual(needed[0]);
    expect(needed[2]).toEqual(needed[0]);
  },
);
