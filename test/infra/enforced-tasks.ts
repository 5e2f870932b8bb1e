/** Tasks with every kind of end, for a worker under enforced policies. */
import { DoNotRetry } from '../../shared/tasks/task/control.ts';
import type { TaskDefinition } from '../../shared/tasks/task/definition.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import { spawn } from '../../shared/tasks/task/task-request.ts';

export const SPAWNED_IN_ORDER = ['spawned-1', 'spawned-2'];
const AWAITED_IN_ORDER = { key: 'awaited', ordered: true };

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
        task.commit('ok', [], {
          spawn: [
            spawn('succeeds', {}, { id: 'follows' }),
            ...SPAWNED_IN_ORDER.map((id) => spawn('succeeds', {}, { id, key: 'spawned', ordered: true })),
          ],
        }),
    }),
    waits: defineTask({
      name: 'waits',
      run: async (_input, task) =>
        task.children === undefined
          ? task.waitFor([spawn('succeeds', {}), spawn('succeeds', {}, AWAITED_IN_ORDER)])
          : 'ok',
    }),
    progresses: defineTask({
      name: 'progresses',
      async run(_input, task) {
        await task.saveProgress({ half: true });
      },
    }),
  };
}
