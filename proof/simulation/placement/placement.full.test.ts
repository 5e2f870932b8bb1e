/** Every placement of one fault in every short flow. The long tier places pairs. */
import { expect, test } from 'vitest';
import { FLOWS } from './flows.ts';
import { placesOne } from './places-one.ts';
import type { Stage } from './stage.ts';
import { play } from './stage.ts';

placesOne(FLOWS);

test('a task that its dead worker leaves behind would be noticed', async () => {
  const [flow] = FLOWS.filter(({ name }) => name === 'claim and complete');
  const abandons = { ...flow!, after: (stage: Stage) => stage.sleep(170_000) };
  const { faults } = await play(abandons, []);
  const rules = new Set<string>();

  for (let request = 1; request <= faults.length; request++)
    for (const { invariant } of (await play(abandons, [{ request, fault: 'crash' }])).violations) rules.add(invariant);

  expect([...rules]).toContain('L10');
});
