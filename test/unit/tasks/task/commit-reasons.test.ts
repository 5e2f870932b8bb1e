/** The reasons of a refused commit name the user's own actions: one for each write and each spawned task. */
import { expect, test } from 'vitest';
import { CommitRefusedError } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { INPUT_LIMIT_BYTES } from '../../../../shared/tasks/task/task.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

test('a refused commit has one reason for each write and each spawned task, even of many rows', async () => {
  const q = openMemoryQueue();
  await q.client.enqueue('child', null, { id: 'taken', delay: '1h' });
  const refused: CommitRefusedError[] = [];
  const put = (id: string, ConditionExpression: string) => ({
    Put: { TableName: q.table, Item: { pk: `user#${id}`, sk: 'row' }, ConditionExpression },
  });
  const parent = defineTask({
    name: 'parent',
    // Its key has a slot, and a line: both are actions of the same transaction.
    run: (_: null, task) =>
      task
        .commit(undefined, [put('a', 'attribute_not_exists(pk)'), put('b', 'attribute_exists(pk)')], {
          spawn: [
            spawn('child', 'x'.repeat(INPUT_LIMIT_BYTES + 1), { id: 'large' }),
            spawn('child', null, { id: 'taken' }),
          ],
        })
        .catch((error: unknown) => {
          if (error instanceof CommitRefusedError) refused.push(error);
          else throw error;
        }),
  });
  await q.client.enqueue('parent', null, { key: 'k', ordered: true, rate: { count: 10, per: '1s' } });

  await q.work({ parent });

  expect(refused.map(({ reasons }) => reasons.map(({ code }) => code))).toEqual([
    ['None', 'ConditionalCheckFailed', 'None', 'ConditionalCheckFailed'],
  ]);
  expect(refused[0]?.message).toContain('task taken of queue default exists already (ready)');
});

test('a refused commit names the position, the table and the key of each write that was refused', async () => {
  const q = openMemoryQueue();
  const refused: CommitRefusedError[] = [];
  const row = (id: string) => ({ TableName: q.table, Key: { pk: `user#${id}`, sk: 'row' } });
  const writes = [
    { ConditionCheck: { ...row('a'), ConditionExpression: 'attribute_not_exists(pk)' } },
    { ConditionCheck: { ...row('b'), ConditionExpression: 'attribute_exists(pk)' } },
    { Put: { TableName: q.table, Item: row('c').Key, ConditionExpression: 'attribute_exists(pk)' } },
  ];
  const parent = defineTask({
    name: 'parent',
    run: (_: null, task) =>
      task.commit(undefined, writes).catch((error: unknown) => void refused.push(error as CommitRefusedError)),
  });
  await q.client.enqueue('parent', null);

  await q.work({ parent });

  const code = 'ConditionalCheckFailed';
  expect(refused[0]?.reasons).toMatchObject([
    { code: 'None', index: 0 },
    { code, index: 1, table: q.table, key: row('b').Key },
    { code, index: 2, table: q.table, key: undefined },
  ]);
  expect(refused[0]?.message).toContain(
    `(writes[1] of table ${q.table}, { pk: 'user#b', sk: 'row' }: ${code}, writes[2] of`,
  );
});
