/** The page for other languages: its row matches the client's, and its keys match the code's. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readyPartitionKey, shardOf, taskKey } from '../../shared/dynamo/engine/keys.ts';
import { enqueueTask } from '../../shared/tasks/rows/task/task-statements.ts';
import type { Json } from '../../shared/core/json.ts';
import type { NewTask } from '../../shared/tasks/task/task-store.ts';
import { ROOT, codeBlocks } from '../support/documents.ts';

const document = 'docs/other-languages.md';
const text = readFileSync(path.join(ROOT, document), 'utf8');

interface Written extends Pick<NewTask, 'queue' | 'id' | 'name' | 'priority'> {
  readonly input: string;
  readonly createdAt: number;
  readonly nonce: string;
}

test('has the row that the client writes for the same task', () => {
  const row = codeBlocks({ path: document, text }).find(({ marks }) => marks.includes('row'));
  const written = JSON.parse(row?.code ?? '') as Written;
  const { queue, id, name, priority, input, createdAt: now, nonce } = written;
  const task = { queue, id, name, priority, runAt: now, input: JSON.parse(input) as Json };

  expect(enqueueTask('table', task, 8, { now, nonce }).input).toMatchObject({
    Item: written,
    ConditionExpression: expect.stringMatching(/^attribute_not_exists\(#?pk\)$/) as string,
  });
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
