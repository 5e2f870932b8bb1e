/** Cost of crowds of hundreds for a caller, in one process, in eight, and in one each. */
import { describe, expect, test } from 'vitest';
import { measure } from '../../../bench/crowd/measure.ts';
import { EACH, SCENES } from '../../../bench/crowd/scenes.ts';

/** Requests of a caller. Beyond a hundred, one row's own speed decides: as many transactions as it takes one after the other. */
const AT_MOST_OF_300 = 32;

describe.each(SCENES.filter(({ isWaiting }) => isWaiting !== true))('a crowd at $name', (scene) => {
  test.each([true, false])('costs each of it little (limits of the service: %s)', async (isStrict) => {
    const alone = await measure(scene, { callers: 1, processes: 1, isStrict });

    for (const [callers, processes] of [100, 300].flatMap((many) => [1, 8, many].map((few) => [many, few] as const))) {
      const { requests, errors } = await measure(scene, { callers, processes, isStrict });
      const bound = alone.requests + (scene.each ?? EACH) * Math.log2(callers) + 0.5;

      expect(errors, `${callers} callers in ${processes} processes`).toEqual([]);
      expect(requests, `${callers} callers in ${processes} processes`).toBeLessThanOrEqual(
        callers <= 100 ? bound : Math.max(bound, AT_MOST_OF_300),
      );
    }
  });
});

test.each(SCENES.filter(({ isWaiting }) => isWaiting === true))(
  'a hundred callers of $name are through in time',
  async (scene) => {
    const { lastMs, readUnits, errors } = await measure(scene, { callers: 100, processes: 100, isStrict: true });

    expect(errors).toEqual([]);
    expect(lastMs).toBeLessThanOrEqual(5_500);
    expect(readUnits).toBeLessThanOrEqual(120);
  },
);
