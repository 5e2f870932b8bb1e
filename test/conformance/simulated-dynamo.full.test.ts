/**
 * The simulated store behaves like DynamoDB, as far as emulators can tell.
 *
 * Random programs run on it and on real engines, and everything is compared: responses, errors, blocking items,
 * cancellation reasons, consumed capacity, the rows written, and at the end all tables and indexes.
 * Permitted divergences of engines are in `allowed-divergences.ts`, with the correct side and the reason.
 * `node test/conformance/compare.ts --operations 100000` runs more of them.
 */
import { describe, expect, inject, test } from 'vitest';
import { compareStores } from '../support/dynamo-programs/compare-stores.ts';
import { ALLOWED_DIVERGENCES } from '../support/dynamo-programs/allowed-divergences.ts';

const OPERATIONS = Number(process.env.LEASEHOLD_CONFORMANCE_OPERATIONS ?? 1_000);

const endpoints = {
  'dynamodb-local': inject('dynamodbLocalEndpoint'),
  embedded: inject('embeddedEndpoint'),
};

describe('the simulated store', () => {
  test.skipIf(endpoints['dynamodb-local'] === null)(
    `answers ${OPERATIONS} random operations as the engines do`,
    async () => {
      const report = await compareStores({ endpoints, operations: OPERATIONS, seed: 1 });

      expect(report.unexplained, report.text).toBeUndefined();
      expect(report.tally.compared).toBeGreaterThanOrEqual(OPERATIONS);
    },
  );

  test('differs from engines for few reasons, each with a citation', () => {
    expect(ALLOWED_DIVERGENCES.length).toBeLessThanOrEqual(10);
    for (const { because } of ALLOWED_DIVERGENCES)
      expect(because).toMatch(/Alternator|API|Guide|Dynoxide|DynamoDB Local/);
  });
});
