import { describe, expect, test } from 'vitest';
import { DateHeaderGauge } from '../../../../shared/dynamo/engine/skew-gauge.ts';

describe('the gauge of clock skew', () => {
  const serverDate = Date.parse('2026-03-01T12:00:00Z');
  const skewOf = (sentAfterMs: number, receivedAfterMs: number): number => {
    const gauge = new DateHeaderGauge();
    gauge.observe({ serverDate, sentAt: serverDate + sentAfterMs, receivedAt: serverDate + receivedAfterMs });
    return gauge.provenSkewMs();
  };

  test('proves nothing within the second that the header is cut to', () => {
    expect(skewOf(0, 20)).toBe(0);
    expect(skewOf(999, 1_020)).toBe(0);
  });

  test('proves nothing that the time of the request could explain', () => {
    expect(skewOf(-5_000, 3_000)).toBe(0);
  });

  test('proves a clock that is ahead, and one that is behind', () => {
    expect(skewOf(61_000, 61_020)).toBe(60_000);
    expect(skewOf(-60_020, -60_000)).toBe(60_000);
  });

  test('forgets a difference that was corrected', () => {
    const gauge = new DateHeaderGauge();
    gauge.observe({ serverDate, sentAt: serverDate + 61_000, receivedAt: serverDate + 61_001 });
    gauge.observe({ serverDate, sentAt: serverDate + 10, receivedAt: serverDate + 20 });

    expect(gauge.provenSkewMs()).toBe(0);
  });
});
