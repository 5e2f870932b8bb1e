/** The part of a shared partition that one worker tries first. */
import { describe, expect, test } from 'vitest';
import { ChosenSlice } from '../../../../shared/tasks/picker/chosen-slice.ts';
import { CLAIMS_PER_LOSS, SCAN_ENTRIES } from '../../../../shared/tasks/picker/tuning.ts';
import { Prng } from '../../../support/machines/prng.ts';

const IDS = Array.from({ length: 4_000 }, (_, nth) => `t${nth}`);
const shareOf = (slice: ChosenSlice): number => IDS.filter((id) => slice.has(id)).length / IDS.length;
const claim = (slice: ChosenSlice, isWon: boolean, times = CLAIMS_PER_LOSS): void => {
  for (let nth = 0; nth < times; nth++) slice.claimed(isWon);
};

describe('the slice of a worker', () => {
  test('is the whole partition as long as the worker wins its claims', () => {
    const slice = new ChosenSlice(undefined, new Prng(1n));
    for (let round = 0; round < 100; round++) {
      claim(slice, true, 2 * CLAIMS_PER_LOSS);
      slice.claimed(false);
    }

    expect(slice.isPart).toBe(false);
    expect(shareOf(slice)).toBe(1);
  });

  test('is halved each time that the worker loses too many claims', () => {
    const slice = new ChosenSlice(undefined, new Prng(1n));
    const shares = [2, 4, 8, 16].map((of) => {
      claim(slice, false);
      return shareOf(slice) * of;
    });

    for (const share of shares) expect(share).toBeCloseTo(1, 0);
    claim(slice, false, 10 * CLAIMS_PER_LOSS);
    expect(shareOf(slice)).toBeGreaterThan(1 / (2 * SCAN_ENTRIES));
  });

  test('is a part of the same size in which other workers chose other entries', () => {
    const [one, other] = [1n, 2n].map((seed) => {
      const slice = new ChosenSlice(undefined, new Prng(seed));
      claim(slice, false, 3 * CLAIMS_PER_LOSS);
      return slice;
    }) as [ChosenSlice, ChosenSlice];

    expect(IDS.some((id) => one.has(id))).toBe(true);
    expect(IDS.filter((id) => one.has(id) && other.has(id))).toEqual([]);
  });

  test("is the plan's slice again when no entries are left", () => {
    const planned = new ChosenSlice({ nth: 1, of: 3 }, new Prng(1n));
    const slice = new ChosenSlice({ nth: 1, of: 3 }, new Prng(1n));
    claim(slice, false);
    expect(IDS.filter((id) => slice.has(id))).not.toEqual(IDS.filter((id) => planned.has(id)));
    slice.finish();

    expect(IDS.filter((id) => slice.has(id))).toEqual(IDS.filter((id) => planned.has(id)));
  });
});
