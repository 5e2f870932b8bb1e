import { describe, expect, test } from 'vitest';
import type { TrustWindow } from '../../../../shared/core/lease/trust.ts';
import { remainingTrustMs } from '../../../../shared/core/lease/trust.ts';

describe('remainingTrustMs', () => {
  const window: TrustWindow = { opened: { wallMs: 1_000_000, monotonicMs: 500 }, durationMs: 9_000 };
  const after = (wallMs: number, monotonicMs: number): number =>
    remainingTrustMs(window, { wallMs: 1_000_000 + wallMs, monotonicMs: 500 + monotonicMs });

  test('runs down from the moment before sending', () => {
    expect(after(0, 0)).toBe(9_000);
    expect(after(4_000, 4_000)).toBe(5_000);
  });

  test('is over at its very end, not after it', () => {
    expect(after(9_000, 9_000)).toBe(0);
  });

  test('believes the monotonic clock when the wall clock steps back', () => {
    expect(after(-60_000, 9_500)).toBe(-500);
  });

  test('believes the wall clock when the monotonic clock stood still while the machine slept', () => {
    expect(after(3_600_000, 10)).toBeLessThan(0);
  });

  test('never ends for a session without TTL', () => {
    expect(remainingTrustMs({ ...window, durationMs: Infinity }, { wallMs: 9e15, monotonicMs: 9e15 })).toBe(Infinity);
  });
});
