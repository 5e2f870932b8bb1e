import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../shared/errors.ts';
import { sessionTiming, trustDurationMs } from '../../../shared/lease/timing.ts';

describe('sessionTiming', () => {
  test('fills in a heartbeat of a third of the TTL and a margin of a tenth, a second at most', () => {
    expect(sessionTiming({ ttlMs: 3_000 })).toMatchObject({ heartbeatMs: 1_000, holderMarginMs: 300 });
    expect(sessionTiming({ ttlMs: 60_000 })).toMatchObject({ heartbeatMs: 20_000, holderMarginMs: 1_000 });
  });

  test.each([
    [{ ttlMs: 10_000, heartbeatMs: 4_000 }, /ttlMs = 10000 is less than three heartbeats of heartbeatMs = 4000/],
    [
      { ttlMs: 1_000, heartbeatMs: 300, holderMarginMs: 800 },
      /heartbeatMs = 300 plus holderMarginMs = 800 does not fit into ttlMs = 1000/,
    ],
    [{ ttlMs: 100 }, /ttlMs = 100: give 300 ms to a day/],
    [{ ttlMs: 86_400_001 }, /ttlMs = 86400001/],
    [{ ttlMs: NaN }, /ttlMs = NaN: give a number of milliseconds/],
    [{ lockDelayMs: 60_001 }, /lockDelayMs = 60001 is above 60000/],
    [{ maxClockSkewMs: -1 }, /maxClockSkewMs = -1/],
  ])('refuses %j and names both settings', (given, message) => {
    expect(() => sessionTiming(given)).toThrow(ConfigurationError);
    expect(() => sessionTiming(given)).toThrow(message);
  });

  test('lets a session without TTL believe for ever', () => {
    expect(trustDurationMs(sessionTiming({ ttlMs: null }))).toBe(Infinity);
  });
});
