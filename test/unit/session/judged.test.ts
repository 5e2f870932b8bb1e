/** A session as another process judges it, and when its keys open to others: by the row and its own clock, to the millisecond. */
import { describe, expect, test } from 'vitest';
import type { InvalidSession, LiveSession } from '../../../shared/session/session-record.ts';
import { judgeSession, lockDelayEndsAt } from '../../../shared/session/session-record.ts';

const T = 1_772_366_400_000;
const SKEW_MS = 1_000;
const COMMON = {
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
} as const;
const LIVE: LiveSession = { ...COMMON, status: 'live' };
const EXPIRED: InvalidSession = { ...COMMON, status: 'invalid', reason: 'expired', invalidatedAt: T + SKEW_MS };
const OPENS_AT = lockDelayEndsAt(EXPIRED, SKEW_MS);

describe('a session whose row is', () => {
  test('missing has left its keys free', () => {
    expect(judgeSession(undefined, T, SKEW_MS)).toEqual({ kind: 'free' });
  });

  test.each([
    ['until its expiry and the clock bound', LIVE, T + SKEW_MS - 1, { kind: 'live', until: T + SKEW_MS }],
    ['no longer then', LIVE, T + SKEW_MS, { kind: 'expired', session: LIVE }],
    ['without end if it has no TTL', { ...LIVE, ttlMs: null }, T + 90_000_000, { kind: 'live', until: null }],
    ['without end if it has no expiry', { ...LIVE, expiresAt: null }, T + 90_000_000, { kind: 'live', until: null }],
    ['if it was renewed as early as clocks may differ', LIVE, T - 31_000, { kind: 'live', until: T + SKEW_MS }],
    ['never if it was renewed by a clock beyond that', LIVE, T - 31_001, { kind: 'damaged' }],
  ] as const)('live lives %s', (_when, session, now, verdict) => {
    expect(judgeSession(session, now, SKEW_MS)).toEqual(verdict);
  });

  test('invalid keeps its keys closed until the lock-delay ends, and no longer', () => {
    expect(judgeSession(EXPIRED, OPENS_AT - 1, SKEW_MS)).toEqual({ kind: 'closed', until: OPENS_AT });
    expect(judgeSession(EXPIRED, OPENS_AT, SKEW_MS)).toEqual({ kind: 'free' });
  });

  test.each([{ ttlMs: null }, { expiresAt: null }])(
    'invalid by an expiry that it does not name (%j) keeps them closed from its invalidation',
    (change) => {
      const late = { ...EXPIRED, ...change, invalidatedAt: T + 90_000 };
      expect(lockDelayEndsAt(late, SKEW_MS)).toBe(T + 90_000 + 15_000 + SKEW_MS);
    },
  );
});

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
