/** A bulk task that records when it begins, and the response to its commit; its effect is an increment in a separate row. */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineTask } from '../../../shared/tasks/task/definition.ts';

export interface PackLine {
  /** The process that wrote it. */
  readonly pid: number;
  readonly n: number;
  readonly attempt: number;
  readonly at: number;
  /** `begin`, `committed`, or the name of the error that the commit was refused with. */
  readonly told: string;
  readonly aborted: boolean;
}

const STEP_MS = 400;

export const step = defineTask({
  name: 'step',
  input: z.object({ file: z.string(), n: z.number(), table: z.string() }),
  retry: { maxAttempts: 5 },
  async run({ file, n, table }, task) {
    const write = (told: string): void => {
      const { attempt, signal } = task;
      const line: PackLine = { pid: process.pid, n, attempt, at: Date.now(), told, aborted: signal.aborted };
      appendFileSync(file, `${JSON.stringify(line)}\n`);
    };
    write('begin');
    // It does not listen to its signal while it waits, like much code in the world.
    await sleep(STEP_MS);
    const effect = {
      Update: {
        TableName: table,
        Key: { pk: `effect#${n}`, sk: 'effect' },
        UpdateExpression: 'ADD #count :one',
        ExpressionAttributeNames: { '#count': 'count' },
        ExpressionAttributeValues: { ':one': 1 },
      },
    };
    try {
      await task.commit(undefined, [effect]);
      write('committed');
    } catch (error) {
      write((error as Error).name);
    }
  },
});
