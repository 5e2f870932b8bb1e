/** Every placement of one fault, a test for each flow. */
import { expect, test } from 'vitest';
import type { Flow } from './stage.ts';
import { FAULTS, playAll } from './stage.ts';

export function placesOne(flows: readonly Flow[]): void {
  test.each(flows)('$name: does nothing twice and leaves nothing undone for any single fault', async (flow) => {
    const { placements, states, failures } = await playAll(flow);
    console.log(`${flow.name}: ${placements} placements, ${states} different histories`);

    expect(failures).toEqual([]);
    expect(states).toBeGreaterThanOrEqual(FAULTS.length);
  });
}
