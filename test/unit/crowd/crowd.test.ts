/** Each verb with many callers of one row, one process each: a caller's cost grows with the logarithm, and all succeed. */
import { describe, expect, test } from 'vitest';
import { measure } from '../../../bench/crowd/measure.ts';
import { EACH, SCENES } from '../../../bench/crowd/scenes.ts';

/** Half a request: averages are not whole. */
const SLACK = 0.5;

describe.each(SCENES.filter(({ isWaiting }) => isWaiting !== true))('a crowd at $name', (scene) => {
  test.each([true, false])('costs each of it little (conflicts and limits of partitions: %s)', async (isStrict) => {
    const of = (callers: number) => measure(scene, { callers, processes: callers, isStrict });
    const alone = await of(1);

    for (const callers of [10, 50]) {
      const { requests, errors } = await of(callers);
      expect(errors).toEqual([]);
      expect(requests).toBeLessThanOrEqual(alone.requests + (scene.each ?? EACH) * Math.log2(callers) + SLACK);
    }
  });
});

test.each([
  ['enqueue, ordered', 1, 0.5],
  ['enqueue, ordered', 8, 2],
  ['waitGroup.add', 1, 0.5],
])('callers of %s in %d processes share requests: %d each', async (name, processes, atMost) => {
  const scene = SCENES.find((one) => one.name === name);
  if (scene === undefined) throw new Error(`no scene ${name}`);

  const { requests, errors } = await measure(scene, { callers: 50, processes, isStrict: true });

  expect(errors).toEqual([]);
  expect(requests).toBeLessThanOrEqual(atMost);
});
