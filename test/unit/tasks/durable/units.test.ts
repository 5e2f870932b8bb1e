/** Cost of durable tasks, in write units of the whole execution minus the units of a plain task. */
import { expect, test } from 'vitest';
import { estimateCost } from '../../../../shared/operate/cost/estimate.ts';
import { DEFAULT_WORKLOAD } from '../../../../shared/operate/cost/workload.ts';
import { PLAIN_UNITS, UNITS_SCENES, unitsOfEach, unitsOfPlainTask } from '../../../../bench/durable/units.ts';

/** No claim is refused here. */
const PLAIN = { ...DEFAULT_WORKLOAD, refusedPerTask: 0 };

test.each(UNITS_SCENES)('$name: each of $count costs at most $wanted units, as estimated', async (scene) => {
  const units = await unitsOfEach(scene);

  expect(units).toBeLessThanOrEqual(scene.wanted);
  if (scene.figure === undefined) return;
  const { writeUnitsPerTask } = estimateCost({ ...PLAIN, [scene.figure]: scene.count });
  expect(Math.abs((writeUnitsPerTask - PLAIN_UNITS) / scene.count / units - 1)).toBeLessThan(0.05);
});

test('a plain task costs what it did', async () => {
  expect(await unitsOfPlainTask()).toBe(PLAIN_UNITS);
});
