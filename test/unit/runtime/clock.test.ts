import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../shared/runtime/clock.ts';

describe('systemClock', () => {
  test.each([2 ** 31, 31_557_600_000, Infinity])('does not take %d milliseconds for none at all', async (ms) => {
    const awake = new AbortController();
    const slept = systemClock.sleep(ms, awake.signal).then(() => 'woke');

    expect(await Promise.race([slept, sleep(30, 'still asleep')])).toBe('still asleep');
    awake.abort();
    expect(await slept).toBe('woke');
  });
});
