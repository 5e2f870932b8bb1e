/** The texts of claims and permits, which users keep and hand on. */
import { expect, test } from 'vitest';
import {
  formatClaim,
  formatPermit,
  parseClaim,
  parsePermit,
} from '../../../../shared/coordination/semaphore/semaphore.ts';

test.each([
  { session: 'a', since: 1, permits: 1 },
  { session: 'a', since: 1_772_366_400_000, permits: 1 },
  { session: 'a', since: 7, permits: 25 },
  { session: 'a/b*3@=x', since: 9, permits: 2 },
])('%o is the same after it was written and read', (written) => {
  expect(parseClaim(formatClaim(written))).toEqual(written);
  expect(parsePermit(formatPermit({ ...written, token: 5 }))).toEqual({ ...written, token: 5 });
});

test.each(['', 'a', 'a/', '/1', 'a/1*', 'a/1*0', 'a/1='])('no permit is read from %j', (text) => {
  expect(parsePermit(text)).toBeUndefined();
});
