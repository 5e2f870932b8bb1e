/** When the keys of a session that ended open to others. */
import { describe, expect, test } from 'vitest';
import type { InvalidSession } from '../../../shared/session/session-record.ts';
import { lockDelayEndsAt } from '../../../shared/session/session-record.ts';

const T = 1_772_366_400_000;
const SKEW_MS = 1_000;
const EXPIRED: InvalidSession = {
  id: 's',
  name: 'n',
  node: 'host',
  behaviour: 'release',
  revoked: [],
  nonce: 'x',
  renewals: 3,
  ttlMs: 30_000,
  lockDelayMs: 15_000,
  createdAt: T - 60_000,
  expiresAt: T,
  status: 'invalid',
  reason: 'expired',
  invalidatedAt: T + SKEW_MS,
};

describe('the lock-delay', () => {
  test.each([
    ['that was found as soon as it expired counts from there', {}, T + SKEW_MS + 15_000],
    ['that was found later ends no later', { invalidatedAt: T + 4_000 }, T + SKEW_MS + 15_000],
    ['that was found long after lasts a heartbeat', { invalidatedAt: T + 90_000 }, T + 90_000 + 10_000],
    ['lasts no longer than it is', { invalidatedAt: T + 90_000, lockDelayMs: 2_000 }, T + 92_000],
    ['whose ender’s clock is behind counts from its invalidation', { invalidatedAt: T - 500 }, T - 500 + 15_000],
    ['that was destroyed lasts until it would have expired', { reason: 'destroyed', invalidatedAt: T - 20_000 }, T],
    ['that was destroyed counts from there', { reason: 'destroyed', invalidatedAt: T - 10_000 }, T + 5_000],
    ['that was destroyed after its end as well', { reason: 'destroyed', invalidatedAt: T + 90_000 }, T + 105_000],
    ['of no length does not shorten the trust', { reason: 'destroyed', invalidatedAt: T - 20_000, lockDelayMs: 0 }, T],
    ['of a gateway counts from there', { reason: 'destroyed', invalidatedAt: T - 20_000, remote: true }, T - 5_000],
    [
      'without a TTL counts from there',
      { reason: 'destroyed', invalidatedAt: T, ttlMs: null, expiresAt: null },
      T + 15_000,
    ],
    [
      'whose operator chose less',
      { reason: 'destroyed', invalidatedAt: T - 20_000, notBefore: T - 19_000 },
      T - 19_000,
    ],
    [
      'that expires beyond reason lasts no longer than a renewal gives',
      { reason: 'destroyed', invalidatedAt: T, expiresAt: T * 2 },
      T + 30_000 + SKEW_MS,
    ],
  ] as const)('of a session %s', (_what, change, opensAt) => {
    expect(lockDelayEndsAt({ ...EXPIRED, ...change }, SKEW_MS)).toBe(opensAt + SKEW_MS);
  });

  test.each([
    ['after an orderly end', { reason: 'ended' }],
    ['after an expiry when it is 0', { lockDelayMs: 0 }],
    ['if an operator chose none', { reason: 'destroyed', invalidatedAt: T - 20_000, notBefore: 0 }],
    ['of no length of a gateway', { reason: 'destroyed', invalidatedAt: T - 20_000, lockDelayMs: 0, remote: true }],
  ] as const)('does not apply %s', (_what, change) => {
    expect(lockDelayEndsAt({ ...EXPIRED, ...change }, SKEW_MS)).toBe(0);
  });
});
