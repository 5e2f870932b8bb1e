/** Tasks that end in every way, for a worker whose policies are enforced. */
import { DoNotRetry } from '../../shared/task/control.ts';
import type { TaskDefinition } from '../../shared/task/definition.ts';
import { defineTask } from '../../shared/task/definition.ts';

export function tasks(effectsTable: string): Readonly<Record<string, TaskDefinition<unknown>>> {
  const options = { retry: { maxAttempts: 2, backoff: 1 } };
  return {
    succeeds: defineTask({ name: 'succeeds', run: () => 'ok' }),
    commits: defineTask({
      name: 'commits',
      run: (_input, task) =>
        task.commit('ok', [{ Put: { TableName: effectsTable, Item: { pk: task.id, sk: 'effect' } } }]),
    }),
    fails: defineTask({
      name: 'fails',
      ...options,
      run() {
        throw new Error('always');
      },
    }),
    dies: defineTask({
      name: 'dies',
      run() {
        throw new DoNotRetry('never');
      },
    }),
    snoozes: defineTask({ name: 'snoozes', run: (_input, task) => task.snooze('1h') }),
    spawns: defineTask({
      name: 'spawns',
      run: (_input, task) =>
        task.commit('ok', [], { spawn: [{ task: 'succeeds', input: {}, options: { id: 'follows' } }] }),
    }),
    waits: defineTask({
      name: 'waits',
      run: async (_input, task) =>
        task.children === undefined ? task.waitFor([{ task: 'succeeds', input: {}, options: {} }]) : 'ok',
    }),
    progresses: defineTask({
      name: 'progresses',
      async run(_input, task) {
        await task.saveProgress({ half: true });
      },
    }),
  };
}
