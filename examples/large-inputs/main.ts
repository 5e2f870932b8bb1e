/**
 * Inputs of any size: a small one in its task's row, a larger one in a second row, a huge one in your own store.
 *
 *   node examples/large-inputs/main.ts
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { check } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { openQueue } from '../queue.ts';

const options = await exampleOptions({});
const SIZES = [100, 100_000, 1_000_000];

const folder = await mkdtemp(path.join(tmpdir(), 'leasehold-inputs-'));
// Before the module is loaded, here and in the worker.
process.env.INPUTS_FOLDER = folder;
const { measure, payloads } = await import('./tasks.ts');

await using queue = await openQueue('large-inputs', options.endpoint, { payloads });
const { tasks } = queue.leasehold;
const ids: string[] = [];
for (const size of SIZES) {
  const { id } = await tasks.enqueue(measure, { text: 'x'.repeat(size) });
  const task = await tasks.get(id);
  const where = task?.payload === undefined ? 'in its row' : (task.payload.reference ?? 'in its own row');
  console.log(`${size} characters are ${where.slice(0, 60)}`);
  ids.push(id);
}
const stored = (await readdir(folder)).length;

await queue.finish(new URL('tasks.ts', import.meta.url), ids);

const results = await Promise.all(
  ids.map(async (id) => {
    const task = await tasks.get(id);
    return task?.state === 'done' ? task.result : undefined;
  }),
);
check(JSON.stringify(results) === JSON.stringify(SIZES), 'each task got its input, whatever its size');
check(stored === 1, 'only the huge one went to the store');
check((await readdir(folder)).length === 0, 'and is gone from there with its task');
await rm(folder, { recursive: true });
