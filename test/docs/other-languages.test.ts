/** The page for other languages: its row matches the client's, and its keys match the code's. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readyPartitionKey, shardOf, splitKey, taskKey } from '../../shared/dynamo/engine/keys.ts';
import { HAS_NO_TASK } from '../../shared/tasks/rows/task/bar-statements.ts';
import { enqueueTask } from '../../shared/tasks/rows/task/task-statements.ts';
import { fateOfPut } from '../../shared/tasks/task/created-by.ts';
import type { Json } from '../../shared/core/json.ts';
import type { NewTask } from '../../shared/tasks/task/task-store.ts';
import { ROOT, codeBlocks } from '../support/documents.ts';

const document = 'docs/other-languages.md';
const text = readFileSync(path.join(ROOT, document), 'utf8');

interface Written extends Pick<NewTask, 'queue' | 'name' | 'priority' | 'label'> {
  readonly pk: string;
  readonly input: string;
  readonly createdAt: number;
  readonly nonce: string;
}

test('has the row that the client writes for the same task', () => {
  const row = codeBlocks({ path: document, text }).find(({ marks }) => marks.includes('row'));
  const written = JSON.parse(row?.code ?? '') as Written;
  const { pk, queue, name, priority, input, label, createdAt: now, nonce } = written;
  const task = {
    queue,
    id: splitKey(pk)[2] ?? '',
    name,
    priority,
    label,
    runAt: now,
    input: JSON.parse(input) as Json,
  };

  expect(enqueueTask('table', task, 8, { now, nonce }).input).toMatchObject({
    Item: written,
    ConditionExpression: HAS_NO_TASK,
    ExpressionAttributeValues: { ':nonce': nonce },
  });
});

test('has the condition that the client sends', () => {
  expect(text).toContain(`\`${HAS_NO_TASK.replaceAll('#', '')}\``);
});

const FATE = /^\| (\S+) \| (\S+) \| (absent|\d+) \| (was applied|was not applied|unknown)\b/gm;

test('judges a refusal after a lost response as the client does', () => {
  const rows = [...text.matchAll(FATE)];
  for (const [line, nonce = '', createdBy, generation, verdict] of rows) {
    const row = {
      name: 'greet',
      input: null,
      state: 'ready',
      createdAt: 1,
      leaseCounter: 1,
      generation: generation === 'absent' ? 0 : Number(generation),
      createdBy: createdBy === 'absent' ? undefined : createdBy,
    } as const;
    expect(fateOfPut(row, { now: 1, nonce }, true), line).toBe(verdict?.replace(/^was /, ''));
  }
  expect(new Set(rows.map(([, , , , verdict]) => verdict)).size).toBe(3);
});

const ROW = /^\| (\S+) \| (.+?) \| (high|normal|low) \| (\d+) \| (.*?) \| (.*?) \|$/gm;

test('has the vectors of the code', () => {
  const rows = [...text.matchAll(ROW)].map(([line]) => line);
  const computed = [...text.matchAll(ROW)].map(([, queue = '', id = '', priority = '', shards]) => {
    const key = readyPartitionKey(queue, priority, shardOf(id, Number(shards)));
    return `| ${queue} | ${id} | ${priority} | ${shards} | \`${taskKey(queue, id).pk}\` | \`${key}\` |`;
  });

  expect(rows).toEqual(computed);
  expect(rows.length).toBeGreaterThan(4);
});
