import { expect, test } from 'vitest';
import { schedulesOf } from '../../../../shared/client/schedules-of.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { Story } from '../../../support/story.ts';

test('an error that a schema throws reaches the caller of each request as it is', async () => {
  const { here } = new Story();
  const { tasks } = here.leasehold;
  const schedules = schedulesOf(here.leasehold);
  const broken = new TypeError('a mistake in the schema');
  const validate = (): never => {
    throw broken;
  };
  const input = { '~standard': { version: 1, vendor: 'test', validate } } as never;
  const odd = defineTask({ name: 'odd', input, run: () => undefined });
  const asked = spawn(odd as never, 1, { id: 'a' });

  const answers = await Promise.all(
    [
      tasks.enqueue(odd as never, 1),
      tasks.validate(odd as never, 1),
      tasks.enqueueAll([spawn('work', 1), asked]),
      tasks.enqueueBatch([asked], { id: 'b' }),
      tasks.enqueueBatch([spawn('work', 1)], { id: 'b', then: asked }),
      tasks.enqueue(odd as never, 1, { writes: [{ Delete: { TableName: 't', Key: {} } }] }),
      tasks.enqueueAndWait(odd as never, 1),
      schedules.define('s', odd as never, 1, { cron: '0 * * * *' }),
    ].map((asking: Promise<unknown>) => asking.catch((error: unknown) => error)),
  );

  expect(answers.map((answer) => answer === broken)).toEqual(answers.map(() => true));
  expect(await tasks.get('a')).toBeUndefined();
});
