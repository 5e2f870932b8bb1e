/** What a Leasehold is made with. */
import { expect, test } from 'vitest';
import { createLeasehold } from '../../shared/leasehold.ts';

const NOWHERE = { table: 'leasehold', endpoint: 'http://127.0.0.1:9' };

test.each([0, -1, 1.5, NaN, 257, '8', null])('refuses %s shards', (shards) => {
  expect(() => createLeasehold({ ...NOWHERE, shards: shards as number })).toThrow(
    /^shards = .*: give a whole number from 1 to 256$/,
  );
});

test.each([1, 256, undefined])('takes %s shards', (shards) => {
  expect(() => createLeasehold({ ...NOWHERE, shards })).not.toThrow();
});
