/**
 * Drawn stories, whole: every answer, and the table at the end.
 *
 * A changed line is a changed behaviour. After an intended change: `npx vitest run test/unit/drawn -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import type { Acts } from './drawn-story.ts';
import { DrawnStory } from './drawn-story.ts';
import { coordinationActs } from './coordination-acts.ts';
import { fleetActs } from './fleet-acts.ts';
import { taskActs } from './task-acts.ts';

const STEPS = 500;
/** A tick or a worker of many shards sends many requests. */
const FLEET_STEPS = 170;
const PAUSES = [200, 3_000, 12_000, 70_000] as const;

async function told(seed: bigint, actsOf: (story: DrawnStory) => Acts, steps = STEPS): Promise<string> {
  const story = new DrawnStory(seed, actsOf);
  for (let step = 0; step < steps; step++) {
    await story.step();
    const pause = story.prng.pick(PAUSES);
    if (story.prng.chance(0.2)) await story.pass(pause);
  }
  return story.text;
}

test('of tasks', async () => {
  await expect(await told(1n, ({ story }) => taskActs(story.world))).toMatchFileSnapshot('./tasks.golden.txt');
});

test('draws sessions, locks and rights made of them', async () => {
  await expect(await told(2n, () => coordinationActs())).toMatchFileSnapshot('./coordination.golden.txt');
});

test('draws a fleet of workers, and their starters', async () => {
  await expect(await told(3n, ({ story }) => fleetActs(story.world), FLEET_STEPS)).toMatchFileSnapshot(
    './fleet.golden.txt',
  );
});
