import { beforeEach, describe, expect, test } from 'vitest';
import { ClockSkewError } from '../../../../shared/core/errors.ts';
import { ensureClockWithin, noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { DateHeaderGauge } from '../../../../shared/dynamo/engine/skew-gauge.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const START = '2026-03-01T12:00:00.000Z';
const MAX_CLOCK_SKEW_MS = 1_000;

describe('the gauge of clock skew', () => {
  let clock: ManualClock;
  let gauge: DateHeaderGauge;
  beforeEach(() => {
    clock = new ManualClock(START);
    gauge = new DateHeaderGauge(clock);
  });

  const pass = (ms: number) => clock.runUntil(clock.sleep(ms), () => true);
  const skewOf = (sentAfterMs: number, receivedAfterMs: number): number => {
    const serverDate = Date.parse(START);
    const [sentAt, receivedAt] = [serverDate + sentAfterMs, serverDate + receivedAfterMs];
    gauge.observe({ serverDate, sentAt, receivedAt, tookMs: receivedAt - sentAt });
    return gauge.provenSkewMs();
  };
  /** An answer in 20 ms of a store whose clock differs by `-skewMs` from ours; its header is cut to whole seconds. */
  const answer = (skewMs: number, tookMs = 20): number => {
    const receivedAt = clock.now();
    const serverDate = Math.floor((receivedAt - skewMs - tookMs / 2) / 1_000) * 1_000;
    gauge.observe({ serverDate, sentAt: receivedAt - tookMs, receivedAt, tookMs });
    return gauge.provenSkewMs();
  };
  const isRefused = (): boolean => {
    try {
      ensureClockWithin(gauge, MAX_CLOCK_SKEW_MS);
      return false;
    } catch (error) {
      if (error instanceof ClockSkewError) return true;
      throw error;
    }
  };

  test('proves nothing within the second that the header is cut to', () => {
    expect(skewOf(0, 20)).toBe(0);
    expect(skewOf(999, 1_020)).toBe(0);
  });

  test('proves nothing that the time of the request could explain', () => {
    expect(skewOf(-5_000, 3_000)).toBe(0);
  });

  test('proves a fast clock, and a slow one', () => {
    expect(skewOf(61_000, 61_020)).toBe(60_000);
    clock.step(-120_000);
    expect(skewOf(-60_020, -60_000)).toBe(60_000);
  });

  // Two hosts, each off by half of the bound, differ by all of it.
  test.each([
    [450, false],
    [600, true],
    [900, true],
  ])('with a clock that is off by %i ms either way, refuses: %s', async (skewMs, refused) => {
    for (const skew of [skewMs, -skewMs]) {
      gauge = new DateHeaderGauge(clock);
      for (let time = 0; time < 100; time++) {
        answer(skew);
        await pass(137);
      }
      expect(isRefused()).toBe(refused);
    }
  });

  test('keeps the largest proof for a minute, and then what was proven since', async () => {
    await pass(1_700);
    expect(answer(700)).toBe(680);
    await pass(100);
    expect(answer(700)).toBe(680);
    await pass(50_500);
    expect(answer(300)).toBe(680);
    await pass(10_000);
    expect(gauge.provenSkewMs()).toBe(280);
    await pass(60_000);
    expect(gauge.provenSkewMs()).toBe(0);
  });

  test('forgets its proof after the wall clock was corrected, and judges by the next answer', async () => {
    expect(answer(60_000)).toBeGreaterThan(58_000);
    clock.step(-60_000);
    expect(gauge.provenSkewMs()).toBe(0);
    expect(answer(0)).toBe(0);

    // A sandbox that thaws with its wall clock an hour behind.
    clock.step(-3_600_000);
    await pass(5);
    expect(answer(-3_600_000)).toBeGreaterThan(3_590_000);
  });

  test('a request during which the wall clock was corrected proves nothing', () => {
    const sentAt = clock.now();
    clock.step(-60_000);
    gauge.observe({ serverDate: clock.now(), sentAt, receivedAt: clock.now(), tookMs: 20 });

    expect(gauge.provenSkewMs()).toBe(0);
  });
});

test('a clock about which nothing is proven is within any bound, also zero', () => {
  expect(() => ensureClockWithin(noSkewGauge, 0)).not.toThrow();
  expect(() => ensureClockWithin({ provenSkewMs: () => 500 }, 1_000)).not.toThrow();
  expect(() => ensureClockWithin({ provenSkewMs: () => 501 }, 1_000)).toThrow(ClockSkewError);
});
