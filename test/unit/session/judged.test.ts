/** A session as another process judges it: by the row and its own clock, to the millisecond. */
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
