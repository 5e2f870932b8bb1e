/** The long comparison of the simulated store with real engines. `npm run conformance` is the same by hand. */
import { expect, inject, test } from 'vitest';
import { compareStores } from '../support/dynamo-programs/compare-stores.ts';

const OPERATIONS = 100_000;
const MINUTES = 20;
const endpoints = {
  'dynamodb-local': inject('dynamodbLocalEndpoint'),
  embedded: inject('embeddedEndpoint'),
};

// The answers of the engines through each driver are those of one store, so they are the same through all three.
test.skipIf(endpoints['dynamodb-local'] === null).each([
  ['wire', 2],
  ['sdk', 1002],
  ['fetch', 2002],
] as const)(
  `the simulated store answers as the engines do through the %s driver, ${OPERATIONS} times`,
  { timeout: MINUTES * 60_000 },
  async (driver, seed) => {
    const report = await compareStores({ endpoints, operations: OPERATIONS, seed, driver });

    expect(report.unexplained, report.text).toBeUndefined();
    expect(report.tally.compared).toBeGreaterThanOrEqual(0.9 * OPERATIONS);
  },
);
