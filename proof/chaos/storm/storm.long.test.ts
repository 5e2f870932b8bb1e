import { expect, test } from 'vitest';
import { runStorm } from './storm.ts';

test('all that is asked for in a storm of dying workers has its effect once, the newest last, and in order', async () => {
  const report = await runStorm({ workers: 8, seconds: 90, seed: 36n });

  expect(report.violations).toEqual([]);
  expect(report.effects).toBeGreaterThan(100);
  expect(Object.values(report.faults).every((count) => count > 0)).toBe(true);
});
