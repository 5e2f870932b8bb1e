import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../shared/core/runtime/clock.ts';

describe('systemClock', () => {
  test.each([2 ** 31, 31_557_600_000, Infinity])('does not take %d milliseconds for none at all', async (ms) => {
    const awake = new AbortController();
    const slept = systemClock.sleep(ms, awake.signal).then(() => 'woke');

    expect(await Promise.race([slept, sleep(30, 'still asleep')])).toBe('still asleep');
    awake.abort();
    expect(await slept).toBe('woke');
  });

  test('calls back once after a while, and not at all once cancelled', async () => {
    const calls: string[] = [];
    const cancelled = systemClock.after(1, () => void calls.push('cancelled'));
    cancelled();
    await new Promise<void>((resolve) => {
      systemClock.after(1, () => {
        calls.push('due');
        resolve();
      });
    });
    await sleep(5);
    cancelled();

    expect(calls).toEqual(['due']);
  });

  test('does not fire early for a time beyond the longest timer', async () => {
    const calls: string[] = [];
    const cancel = systemClock.after(Infinity, () => void calls.push('early'));
    await sleep(5);
    cancel();

    expect(calls).toEqual([]);
  });
});
