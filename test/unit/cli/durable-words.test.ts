/** How the command tells of a durable task. */
import { expect, test } from 'vitest';
import { durableTask } from '../../../api/durable.ts';
import { durableHistory, durableText } from '../../../cli/queue/durable-history.ts';
import { dueText, stateText } from '../../../cli/queue/task-words.ts';
import { DurableWorld } from '../../support/durable-world.ts';

test('a durable task is suspended, says what it waits for, and what has happened', async () => {
  const main = durableTask({
    name: 'main',
    run: async (_: unknown, ctx) => {
      await ctx.step('charge', async () => 'charged');
      await ctx.waitForCallback('approval', async () => undefined, { timeout: { hours: 2 } });
    },
  });
  const world = new DurableWorld({ tasks: { main } });
  await world.leasehold.tasks.enqueue('main', null, { id: 'r' });
  const before = await world.task('r');
  await world.work();
  const task = await world.task('r');
  const now = world.clock.now();

  expect(stateText(before, now)).toBe('ready');
  expect(stateText(task, now)).toBe('suspended, waits for 1 answer or task');
  expect(dueText(task, now)).toBe('in 2h, or when it is answered');
  expect(durableText(await durableHistory(world.stores.tasks, task), now)).toMatch(
    /ExecutionStarted(?:.|\n)*StepSucceeded.*charge.*charged(?:.|\n)*CallbackStarted/,
  );
});
