import { describe, expect, test } from 'vitest';
import { DoNotRetry } from '../../../../shared/tasks/task/control.ts';
import { defineTask, registerTasks } from '../../../../shared/tasks/task/definition.ts';
import type { TaskMiddleware } from '../../../../shared/tasks/task/middleware.ts';
import { withMiddleware } from '../../../../shared/tasks/task/middleware.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

/** A kit whose one task goes through the middleware. */
async function runThrough(middleware: readonly TaskMiddleware[], run: () => unknown) {
  const work = defineTask({ name: 'work', run });
  const tasks = Object.fromEntries(withMiddleware(registerTasks({ work }), middleware));
  const kit = createTestKit({ tasks });
  await kit.tasks.enqueue('work', { n: 1 }, { id: 'w' });
  await kit.drain();
  return kit.tasks.get('w');
}

describe('middleware around task runs', () => {
  test('may change the result', async () => {
    const after = (attempt: { result: unknown }): void => {
      attempt.result = { wrapped: attempt.result };
    };

    expect(await runThrough([{ after }], () => 7)).toMatchObject({ state: 'done', result: { wrapped: 7 } });
  });

  test('sees errors, and may replace or clear them', async () => {
    const fail = (): never => {
      throw new Error('boom');
    };
    const replace: TaskMiddleware = {
      onError(attempt) {
        attempt.error = new DoNotRetry('hopeless', { cause: attempt.error });
      },
    };
    const clear: TaskMiddleware = {
      onError(attempt) {
        attempt.error = undefined;
        attempt.result = 'made up for';
      },
    };

    expect(await runThrough([replace], fail)).toMatchObject({ state: 'dead', lastError: { name: 'DoNotRetry' } });
    expect(await runThrough([clear], fail)).toMatchObject({ state: 'done', result: 'made up for' });
  });

  test('takes code that rejects without a reason for what it is, a failure', async () => {
    const seen: unknown[] = [];
    const watch: TaskMiddleware = { onError: ({ error }) => void seen.push(error) };
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors
    const row = await runThrough([watch], () => Promise.reject());

    expect(row).toMatchObject({ state: 'ready', lastError: { message: 'the code threw nothing' } });
    expect(seen).toEqual([new Error('the code threw nothing')]);
  });
});
