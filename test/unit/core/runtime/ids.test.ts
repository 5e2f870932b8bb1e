import { describe, expect, test, vi } from 'vitest';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';

const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('ids in order of time', () => {
  test('are UUIDs of version 7, which begin with their moment', () => {
    const before = Date.now();
    const id = systemIds.ordered();

    expect(id).toMatch(VERSION_7);
    const at = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
    expect(at).toBeGreaterThanOrEqual(before);
  });

  test('ascend within a millisecond, beyond what its counter holds, and when the clock is set back', () => {
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000);
    try {
      const ids = Array.from({ length: 10_000 }, () => systemIds.ordered());
      clock.mockReturnValue(Date.now() - 7_200_000);
      ids.push(systemIds.ordered());

      expect(ids.every((id) => VERSION_7.test(id))).toBe(true);
      expect(ids).toEqual([...ids].sort());
      expect(new Set(ids).size).toBe(ids.length);
    } finally {
      clock.mockRestore();
    }
  });
});
