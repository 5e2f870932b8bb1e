/** Every placement of two faults in every flow of at most so many requests: their number grows with its square. */
import { expect, test } from 'vitest';
import { FLOWS } from './flows.ts';
import { play, playAll } from './stage.ts';

const MOST_REQUESTS = 21;
const short = [];
for (const flow of FLOWS) if ((await play(flow, [])).faults.length <= MOST_REQUESTS) short.push(flow);

test.each(short)('$name: does nothing twice and leaves nothing undone for any two faults', async (flow) => {
  const { placements, states, failures } = await playAll(flow, { pairs: true });
  console.log(`${flow.name}: ${placements} placements, ${states} different histories`);

  expect(failures).toEqual([]);
});
