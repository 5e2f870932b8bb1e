/** A child that is brought back after its batch has ended ends like any other task. */
import { expect, test } from 'vitest';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { Committed } from '../../../../shared/tasks/task/context.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

test.each(['done', 'dead', 'cancelled'] as const)('a child of an ended batch is again %s', async (end) => {
  let isMended = false;
  const child = defineTask({
    name: 'child',
    retry: { maxAttempts: 1 },
    run() {
      if (!isMended) throw new Error('not yet');
      return 'mended';
    },
  });
  const parent = defineTask({
    name: 'parent',
    run: (_: unknown, task): Promise<Committed> =>
      task.children === undefined
        ? task.waitFor([spawn(child, null, { id: 'c-1' }), spawn(child, null, { id: 'c-2' })])
        : task.commit(task.children.dead),
  });
  const kit = createTestKit({ tasks: { child, parent } });
  await kit.tasks.enqueue(parent, null, { id: 'p' });
  await kit.drain();
  expect(await kit.tasks.get('p')).toMatchObject({ state: 'done', result: 2 });

  isMended = end === 'done';
  const dead = await kit.tasks.get('c-1');
  await kit.operator.retry('c-1', { leaseCounter: dead?.leaseCounter ?? 0 });
  if (end === 'cancelled') await kit.operator.cancel('c-1');
  await kit.drain();

  expect(await kit.tasks.get('c-1')).toMatchObject({ state: end });
  expect(await kit.tasks.get('p')).toMatchObject({ state: 'done', result: 2 });
});
