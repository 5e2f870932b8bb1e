/** Operations of a claim that task code does not await, at once or at all. */
import { expect, test } from 'vitest';
import { CommitRefusedError } from '../../../../shared/tasks/task/control.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { UserWrite } from '../../../../shared/tasks/task/task-store.ts';
import type { TestKit } from '../../../../shared/testing/kit.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

const REFUSED: UserWrite = {
  ConditionCheck: { TableName: 'orders', Key: { id: 'none' }, ConditionExpression: 'attribute_exists(id)' },
};

/** Drains a kit with one task, and returns the task. An unhandled rejection fails the test. */
async function ended(run: (task: TaskContext, kit: TestKit) => unknown) {
  const t = defineTask({ name: 't', retry: { maxAttempts: 1 }, run: (_: unknown, task) => run(task, kit) as never });
  const kit: TestKit = createTestKit({ tasks: { t }, tables: [{ name: 'orders', partitionKey: 'id' }] });
  await kit.tasks.enqueue(t, null, { id: 't' });
  await kit.drain();
  const { state, lastError, ...task } = (await kit.tasks.get('t'))!;
  return [state, state === 'done' && 'result' in task ? task.result : lastError?.name];
}

const dead = ['dead', 'CommitRefusedError'];

test('a commit that is returned together with a lock is refused after the lock was released', async () => {
  const run = async (task: TaskContext, kit: TestKit) => {
    await using session = await kit.leasehold.session();
    await using lock = await session.lock('vendor');
    void lock;
    // As users without this rule write it.
    // oxlint-disable-next-line typescript/return-await
    return task.commit('x', [REFUSED]);
  };
  expect(await ended(run)).toEqual(dead);
});

test('an operation that nobody awaits does not succeed silently', async () => {
  expect(await ended((task) => void task.commit('x', [REFUSED]))).toEqual(dead);
  expect(await ended((task) => void task.commit(1n as never))).toEqual(['dead', 'ConfigurationError']);
  expect(await ended((task) => void task.saveProgress(1n as never))).toEqual(['dead', 'ConfigurationError']);
  expect(await ended((task) => void task.snooze('never' as never))).toEqual(['dead', 'ConfigurationError']);
  expect(await ended((task) => void task.waitFor([{} as never]))).toEqual(['dead', 'ConfigurationError']);
  expect(await ended((task) => [task.commit('x', [REFUSED])])).toEqual(dead);
});

test('an operation that nobody awaits counts if it was applied', async () => {
  expect(await ended((task) => void task.commit('x'))).toEqual(['done', 'x']);
  expect(await ended((task) => (void task.commit('x'), void task.saveProgress(1)))).toEqual(['done', 'x']);
});

test('code that awaits a refusal decides what follows', async () => {
  const caught = async (task: TaskContext) => {
    await expect(task.commit('x', [REFUSED])).rejects.toThrow(CommitRefusedError);
    return 'y';
  };
  expect(await ended(caught)).toEqual(['done', 'y']);
  expect(await ended((task) => task.commit('x', [REFUSED]).catch(() => 'y'))).toEqual(['done', 'y']);
  expect(await ended((task) => Promise.allSettled([task.commit('x', [REFUSED])]).then(() => 'y'))).toEqual([
    'done',
    'y',
  ]);
});

test('an error of the code wins over an error of an operation', async () => {
  const run = (task: TaskContext) => {
    void task.commit('x', [REFUSED]);
    throw new RangeError('mine');
  };
  expect(await ended(run)).toEqual(['dead', 'RangeError']);
});
