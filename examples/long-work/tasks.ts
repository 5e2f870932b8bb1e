/** A migration that takes longer than a function may live. It saves a checkpoint after each chunk, and continues from the last one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTask } from 'leasehold/tasks';
import * as z from 'zod';

/** An attempt's checkpoint for the next: the progress, and the number of chunks that each attempt copied, by its token. */
const checkpoint = z.object({ copied: z.number(), by: z.record(z.string(), z.number()) });
export type Checkpoint = z.infer<typeof checkpoint>;

export const BEGINNING: Checkpoint = { copied: 0, by: {} };

export const migrate = defineTask({
  name: 'records.migrate',
  input: z.object({ chunks: z.number(), msPerChunk: z.number() }),
  async run({ chunks, msPerChunk }, task) {
    let { copied, by } = task.progress === undefined ? BEGINNING : checkpoint.parse(task.progress);
    const me = String(task.fencingToken);
    while (copied < chunks) {
      // Throws when the function's deadline is near: the task is handed back then, with its last checkpoint, and no attempt is counted.
      await sleep(msPerChunk, undefined, { signal: task.signal });
      copied++;
      by = { ...by, [me]: (by[me] ?? 0) + 1 };
      await task.saveProgress({ copied, by });
    }
    return { copied, by };
  },
});
