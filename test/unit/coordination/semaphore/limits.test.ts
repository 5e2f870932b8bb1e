import { describe, expect, test } from 'vitest';
import type { SemaphoreRecord } from '../../../../shared/coordination/semaphore/semaphore.ts';
import {
  formatClaim,
  formatPermit,
  canAcquire,
  parseClaim,
  parsePermit,
  withDeclared,
  withHolder,
  withLimit,
} from '../../../../shared/coordination/semaphore/semaphore.ts';

const EMPTY: SemaphoreRecord = {
  name: 'slots',
  limit: 3,
  declared: 3,
  free: 3,
  leaseCounter: 100,
  revision: 7,
  nonce: 'n',
  holders: [],
  waiting: [],
  left: {},
  floor: 0,
  lastEviction: undefined,
};
const claim = (since: number, permits = 1) => ({ session: 'a', since, permits });

describe('a permit', () => {
  test.each([claim(1), claim(1_772_366_400_000), claim(7, 25), { session: 'a/b*3@=x', since: 9, permits: 2 }])(
    'is the same after it was written and read: %o',
    (written) => {
      expect(parseClaim(formatClaim(written))).toEqual(written);
      expect(parsePermit(formatPermit({ ...written, token: 5 }))).toEqual({ ...written, token: 5 });
    },
  );

  test.each(['', 'a', 'a/', '/1', 'a/1*', 'a/1*0', 'a/1='])('is not read from %j', (text) => {
    expect(parsePermit(text)).toBeUndefined();
  });

  test('takes its weight, and the next token', () => {
    const held = withHolder(EMPTY, claim(1, 2));

    expect(held).toMatchObject({ free: 1, leaseCounter: 101, holders: [{ permits: 2, token: 101 }] });
    expect([canAcquire(held, claim(2)), canAcquire(held, claim(2, 2))]).toEqual([true, false]);
  });

  test('waits for its turn when another is first in the queue', () => {
    const queued = { ...EMPTY, waiting: [{ ...claim(1), until: 9 }] };

    expect([canAcquire(queued, claim(1)), canAcquire(queued, claim(2))]).toEqual([true, false]);
    expect(withHolder(queued, claim(1)).waiting).toEqual([]);
  });
});

describe('the limit', () => {
  const held = withHolder(withHolder(EMPTY, claim(1)), claim(2));

  test('can be lower than the permits held, and then admits no contender', () => {
    const lowered = withLimit(held, 1);

    expect(lowered).toMatchObject({ limit: 1, declared: 3, free: -1 });
    expect(canAcquire(lowered, claim(3))).toBe(false);
  });

  test('follows the declared limit until an operator sets another', () => {
    expect(withDeclared(held, 5)).toMatchObject({ limit: 5, declared: 5, free: 3 });
    expect(withDeclared(withLimit(held, 2), 5)).toMatchObject({ limit: 2, declared: 5, free: 0 });
  });
});
