import { expect, test, vi } from 'vitest';
import { ManualClock } from '../../support/manual-clock.ts';

test('a test that waits for what never happens fails, with and without something to wake', async () => {
  const clock = new ManualClock('2026-01-01T00:00:00Z');
  const never = new Promise(vi.fn<() => void>());
  await expect(clock.runUntil(never, () => true)).rejects.toThrow('not over after 100000 turns');

  const polling = async (): Promise<void> => {
    for (;;) await clock.sleep(100);
  };
  await expect(clock.runUntil(polling(), () => true)).rejects.toThrow('not over after 100000 turns');
});
