/** Writes that a commit accepts as the task's own, and its errors for others. */
import { expect, test } from 'vitest';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { UserWrite } from '../../../../shared/tasks/task/task-store.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

async function told(writes: (table: string) => unknown): Promise<string> {
  const q = openMemoryQueue();
  let answer: unknown;
  const commits = defineTask({
    name: 'commits',
    run: async (_: null, context) => {
      answer = await context.commit('done', writes(q.table) as readonly UserWrite[]).catch((error: unknown) => error);
    },
  });
  await q.client.enqueue(commits, null);
  await q.work({ commits });
  return answer instanceof Error ? String(answer) : JSON.stringify(answer);
}

const put = (TableName: string) => ({ Put: { TableName, Item: { pk: 'x', sk: 'x' } } });

test.each([
  ['nothing', () => [null], 'number 1 is not a write'],
  ['a text', (table: string) => [put(table), 'x'], 'number 2 is not a write'],
  ['an action without its parts', () => [{ Put: null }], 'number 1 is not a write'],
  ['an action of another name', () => [{ put: {} }], 'number 1 is not a write'],
  ['two actions in one', (table: string) => [{ ...put(table), Delete: {} }], 'number 1 is not a write'],
  ['no list', put, 'must be a list'],
])('refuses %s', async (_what, writes, message) => {
  const answer = await told(writes);

  expect(answer).toMatch(/^ConfigurationError: the writes of task /);
  expect(answer).toContain(message);
});

test("accepts a whole number beyond JavaScript's exact range", async () => {
  const write = (TableName: string) => [{ Put: { TableName, Item: { pk: 'x', sk: 'x', n: 2n ** 60n } } }];

  expect(await told(write)).toBe('{"kind":"leasehold.settled"}');
});
