/** The long comparison of the simulated store with real engines. `npm run conformance` is the same by hand. */
import { expect, inject, test } from 'vitest';
import { compareStores } from '../support/dynamo-programs/compare-stores.ts';

const OPERATIONS = 100_000;
const MINUTES = 20;
const endpoints = {
  'dynamodb-local': inject('dynamodbLocalEndpoint'),
  embedded: inject('embeddedEndpoint'),
};

test.skipIf(endpoints['dynamodb-local'] === null)(
  `the simulated store answers as the engines do, ${OPERATIONS} times`,
  { timeout: MINUTES * 60_000 },
  async () => {
    const report = await compareStores({ endpoints, operations: OPERATIONS, seed: 2 });

    expect(report.unexplained, report.text).toBeUndefined();
    expect(report.tally.compared).toBeGreaterThanOrEqual(0.9 * OPERATIONS);
  },
);
