/**
 * Measures texts of any size.
 *
 * A worker that runs the tasks of this module finds the store for large inputs by its export `payloads`. Here it is a folder;
 * on AWS it is a bucket: `export const payloads = createS3Payloads({ bucket: 'my-inputs' })` of `leasehold/s3`.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PayloadStore } from 'leasehold/s3';
import { defineTask } from 'leasehold/tasks';
import * as z from 'zod';

export const payloads = inFolder(process.env.INPUTS_FOLDER ?? tmpdir());

export const measure = defineTask({
  name: 'text.measure',
  input: z.object({ text: z.string() }),
  run: ({ text }) => text.length,
});

function inFolder(folder: string): PayloadStore {
  const fileOf = (reference: string): string => path.join(folder, path.basename(reference));
  return {
    async put(name, text) {
      const reference = encodeURIComponent(name);
      await writeFile(fileOf(reference), text);
      return reference;
    },
    get: (reference) => readFile(fileOf(reference), 'utf8'),
    delete: (reference) => rm(fileOf(reference), { force: true }),
  };
}
