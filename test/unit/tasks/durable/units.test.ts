/** What durable tasks cost, in write units of the whole execution less those of a plain task. */
import { expect, test } from 'vitest';
import { PLAIN_UNITS, UNITS_SCENES, unitsOfEach, unitsOfPlainTask } from '../../../../bench/durable/units.ts';

test.each(UNITS_SCENES)('$name: each of $count costs at most $wanted units', async (scene) => {
  expect(await unitsOfEach(scene)).toBeLessThanOrEqual(scene.wanted);
});

test('a plain task costs what it did', async () => {
  expect(await unitsOfPlainTask()).toBe(PLAIN_UNITS);
});
