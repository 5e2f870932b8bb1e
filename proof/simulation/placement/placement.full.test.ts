/** Every placement of one fault in every short flow. The long tier places every pair. */
import { expect, test } from 'vitest';
import { FLOWS } from './flows.ts';
import type { Stage } from './stage.ts';
import { FAULTS, play, playAll } from './stage.ts';

test.each(FLOWS)('$name: does nothing twice and leaves nothing undone for any single fault', async (flow) => {
  const { placements, states, failures } = await playAll(flow, { pairs: false });
  console.log(`${flow.name}: ${placements} placements, ${states} different histories`);

  expect(failures).toEqual([]);
  expect(states).toBeGreaterThan(FAULTS.length);
});

test('a task that its dead worker leaves behind would be noticed', async () => {
  const [flow] = FLOWS.filter(({ name }) => name === 'claim and complete');
  const abandons = { ...flow!, after: (stage: Stage) => stage.sleep(170_000) };
  const { requests } = await play(abandons, []);
  const rules = new Set<string>();

  for (let request = 1; request <= requests; request++)
    for (const { invariant } of (await play(abandons, [{ request, fault: 'crash' }])).violations) rules.add(invariant);

  expect([...rules]).toContain('L10');
});
