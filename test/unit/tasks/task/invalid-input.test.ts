/** An input that a schema refuses: the callers' error, and the consequence for a task that passes one on. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { defineSchedule } from '../../../../shared/tasks/schedule/declaration.ts';
import { InvalidInputError } from '../../../../shared/tasks/task/control.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { TestKit } from '../../../../shared/testing/kit.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';

const order = defineTask({ name: 'order', input: z.object({ cents: z.number() }), run: ({ cents }) => cents });
const bad = { cents: 'five' } as never;
const issues = [{ path: ['cents'], message: expect.stringContaining('expected number') as string }];

const VERBS: Readonly<Record<string, (kit: TestKit) => Promise<unknown>>> = {
  enqueue: (kit) => kit.tasks.enqueue(order, bad),
  enqueueAll: (kit) => kit.tasks.enqueueAll([spawn(order, { cents: 1 }), spawn(order, bad)]),
  enqueueBatch: (kit) => kit.tasks.enqueueBatch([spawn(order, bad)], { id: 'b' }),
  validate: (kit) => kit.tasks.validate(order, bad),
  'a schedule': (kit) => kit.schedules.define('nightly', order, bad, { cron: '0 3 * * *' }),
  'a schedule of the module': () =>
    createTestKit({ tasks: { order, schedules: [defineSchedule('n', order, bad, { cron: '0 3 * * *' })] } }).tick(),
};

test.each(Object.keys(VERBS))('%s refuses it with the issues of the schema, and adds nothing', async (verb) => {
  const kit = createTestKit({ tasks: { order } });

  const refused: unknown = await VERBS[verb]?.(kit).then(
    () => 'accepted',
    (error: unknown) => error,
  );

  expect(refused).toBeInstanceOf(InvalidInputError);
  expect(refused).not.toBeInstanceOf(ConfigurationError);
  expect(refused).toMatchObject({ name: 'InvalidInputError', issues });
  expect(String(refused)).toContain('cents: ');
  expect((await kit.drain()).claimed).toBe(0);
});

test.each<[string, (task: TaskContext, kit: TestKit) => unknown]>([
  ['enqueues', (_task, kit) => kit.tasks.enqueue(order, bad)],
  ['spawns', (task) => task.commit(null, [], { spawn: [spawn(order, bad)] })],
  ['waits for', (task) => task.waitFor([spawn(order, bad)])],
])('a task that %s one is retried, and one whose own input does not fit is dead', async (_what, run) => {
  const parent = defineTask({ name: 'parent', run: (_: unknown, task) => run(task, kit) as never });
  const kit: TestKit = createTestKit({ tasks: { parent, order }, log: silent });
  await kit.tasks.enqueue(parent, null, { id: 'p' });
  await kit.tasks.enqueue('order', bad, { id: 'o' });

  await kit.drain();

  const lastError = { name: 'InvalidInputError' };
  expect(await kit.tasks.get('p')).toMatchObject({ state: 'ready', attempts: 1, lastError });
  expect(await kit.tasks.get('o')).toMatchObject({ state: 'dead', attempts: 1, lastError });
});
