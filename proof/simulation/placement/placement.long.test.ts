/** Every placement of two faults in every short flow. */
import { expect, test } from 'vitest';
import { FLOWS } from './flows.ts';
import { playAll } from './stage.ts';

test.each(FLOWS)('$name: does nothing twice and leaves nothing undone for any two faults', async (flow) => {
  const { placements, states, failures } = await playAll(flow, { pairs: true });
  console.log(`${flow.name}: ${placements} placements, ${states} different histories`);

  expect(failures).toEqual([]);
});
