/**
 * Inputs of any size: a small one in its task's row, a larger one in a row beside it, a huge one in a store of your own.
 *
 *   node examples/large-inputs/main.ts
 *
 * Here that store is a folder. On AWS it is a bucket: `createS3Payloads({ bucket: 'my-inputs' })` of `shared/s3/payloads.ts`.
 */
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { defineTask } from '../../shared/task/definition.ts';
import type { PayloadStore } from '../../shared/task/payload.ts';
import { check, openQueue } from '../queue.ts';

const { values: options } = parseArgs({ options: { endpoint: { type: 'string' } } });
const SIZES = [100, 100_000, 1_000_000];

const folder = await mkdtemp(path.join(tmpdir(), 'leasehold-inputs-'));
const payloads: PayloadStore = {
  async put(name, text) {
    const reference = encodeURIComponent(name);
    await writeFile(path.join(folder, reference), text);
    return reference;
  },
  get: (reference) => readFile(path.join(folder, path.basename(reference)), 'utf8'),
  delete: (reference) => rm(path.join(folder, path.basename(reference)), { force: true }),
};

const seen: number[] = [];
const measure = defineTask({
  name: 'text.measure',
  run({ text }: { readonly text: string }) {
    seen.push(text.length);
  },
});

await using queue = await openQueue(options.endpoint, { payloads });
for (const size of SIZES) {
  const { id } = await queue.client.enqueue(measure, { text: 'x'.repeat(size) });
  const task = await queue.client.get(id);
  const where = task?.payload === undefined ? 'in its row' : (task.payload.reference ?? 'in a row beside it');
  console.log(`${size} characters are ${where.slice(0, 60)}`);
}
const stored = (await readdir(folder)).length;

await queue.drain({ measure });

check(seen.toSorted((a, b) => a - b).join() === SIZES.join(), 'each task got its input, whatever its size');
check(stored === 1, 'only the huge one went to the store');
check((await readdir(folder)).length === 0, 'and is gone from there with its task');
await rm(folder, { recursive: true });
