/** The tasks of the evidence: each leaves one effect with its completion, and a few end their worker first. */
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { Kill } from './settings.ts';
import { EFFECTS_VARIABLE, KILLS, variable } from './settings.ts';

export const record = defineTask({
  name: 'record',
  input: z.object({ kill: z.enum(KILLS).optional() }),
  async run({ kill }, task) {
    if (kill !== undefined && task.attempt === 1) await end(kill);
    return task.commit({}, [
      {
        Update: {
          TableName: variable(EFFECTS_VARIABLE),
          Key: { id: task.id },
          UpdateExpression: 'SET #attempt = :attempt ADD #times :one',
          ExpressionAttributeNames: { '#attempt': 'attempt', '#times': 'times' },
          ExpressionAttributeValues: { ':attempt': task.attempt, ':one': 1 },
        },
      },
    ]);
  },
});

async function end(kill: Kill): Promise<void> {
  if (kill === 'exit') process.exit(1);
  if (kill === 'memory') {
    const kept: Uint8Array[] = [];
    for (;;) kept.push(new Uint8Array(32 * 2 ** 20).fill(1));
  }
  // Neither heeds its signal nor lets a heartbeat through, until Lambda ends the invocation.
  await wait(1);
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
}
