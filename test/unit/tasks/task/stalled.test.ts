/** Tasks that take longer than their workers live. */
import { expect, test } from 'vitest';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { TestKit } from '../../../../shared/testing/kit.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

const LIFE_MS = 60_000;

/** A kit with one task, which never ends by itself, and does this before it waits. */
function endless(begin: (task: TaskContext) => Promise<unknown> = () => Promise.resolve()): TestKit {
  const kit: TestKit = createTestKit({
    tasks: {
      forever: defineTask({
        name: 'forever',
        run: async (_: null, task) => {
          await begin(task);
          await kit.clock.advance(LIFE_MS);
          task.signal.throwIfAborted();
        },
      }),
    },
  });
  return kit;
}

async function live(kit: TestKit, lives: number): Promise<number[]> {
  const stalled: number[] = [];
  for (let life = 0; life < lives; life++) stalled.push((await kit.drain({ lifetime: LIFE_MS })).stalled);
  return stalled;
}

test('are dead after five lives without progress, with the reason, and counted from the second on', async () => {
  const kit = endless();
  await kit.tasks.enqueue('forever', null, { id: 't' });

  expect(await live(kit, 4)).toEqual([0, 1, 1, 1]);
  expect(await kit.tasks.get('t')).toMatchObject({ state: 'ready', attempts: 0, handBacks: 4 });
  expect(await live(kit, 1)).toEqual([1]);

  const task = await kit.tasks.get('t');
  expect(task).toMatchObject({ state: 'dead', lastError: { name: 'NeverFits' } });
  expect(task?.lastError?.message).toContain('5 times in a row without new progress');
});
