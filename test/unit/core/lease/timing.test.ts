import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { sessionTiming, trustDurationMs } from '../../../../shared/core/lease/timing.ts';

describe('sessionTiming', () => {
  test('fills in a heartbeat of a third of the TTL and a margin of a tenth, a second at most', () => {
    expect(sessionTiming({ ttlMs: 3_000 })).toMatchObject({ heartbeatMs: 1_000, holderMarginMs: 300 });
    expect(sessionTiming({ ttlMs: 60_000 })).toMatchObject({ heartbeatMs: 20_000, holderMarginMs: 1_000 });
  });

  test.each([
    [
      { ttlMs: 10_000, heartbeatMs: 3_334 },
      /^ttl = 10000 ms is less than three times heartbeat = 3334 ms: .*; raise ttl or lower heartbeat$/,
    ],
    [
      { ttlMs: 1_000, heartbeatMs: 300, holderMarginMs: 700 },
      /^heartbeat = 300 ms plus holderMargin = 700 ms does not fit into ttl = 1000 ms$/,
    ],
    [{ ttlMs: 299 }, /^ttl = 299: must be 300 ms to a day/],
    [{ ttlMs: 86_400_001 }, /^ttl = 86400001/],
    [{ ttlMs: NaN }, /^ttl = NaN: must be a number of milliseconds/],
    [{ lockDelayMs: 60_001 }, /^lockDelay = 60001 ms is above 60000/],
    [{ maxClockSkewMs: -1 }, /^maxClockSkew = -1/],
    [{ ttlMs: null, heartbeatMs: 0 }, /^heartbeat = 0: must be at least a millisecond/],
  ])('refuses %j and names both settings', (given, message) => {
    expect(() => sessionTiming(given)).toThrow(ConfigurationError);
    expect(() => sessionTiming(given)).toThrow(message);
  });

  test.each([
    { ttlMs: 300 },
    { ttlMs: 86_400_000 },
    { lockDelayMs: 0 },
    { lockDelayMs: 60_000 },
    { maxClockSkewMs: 0 },
    { ttlMs: 9_000, heartbeatMs: 3_000 },
    { ttlMs: 1_000, heartbeatMs: 300, holderMarginMs: 699 },
    { ttlMs: null, heartbeatMs: 1 },
  ])('takes %j, which is just within its limits', (given) => {
    expect(sessionTiming(given)).toMatchObject(given);
  });

  test('lets a session without TTL trust itself forever', () => {
    expect(trustDurationMs(sessionTiming({ ttlMs: null }))).toBe(Infinity);
  });
});
