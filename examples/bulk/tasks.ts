/** Small tasks by the hundred: each thumbnail is a task, though sixteen of them share a row. */
import * as z from 'zod';
import { systemClock as clock } from '../../shared/runtime/clock.ts';
import { DoNotRetry } from '../../shared/task/control.ts';
import { defineTask } from '../../shared/task/definition.ts';

export const thumbnail = defineTask({
  name: 'thumbnail',
  input: z.object({ album: z.string(), picture: z.number(), table: z.string() }),
  bulk: { pageSize: 16, flushInterval: '500ms' },
  async run({ album, picture, table }, task) {
    await clock.sleep(10, task.signal);
    // It is dead alone: the others of its page go on, and an operator finds it.
    if (picture % 100 === 99) throw new DoNotRetry('the picture is damaged');
    const key = { pk: `${album}#${picture}`, sk: 'thumbnail' };
    return task.commit(undefined, [
      {
        Update: {
          TableName: table,
          Key: key,
          UpdateExpression: 'ADD #made :one',
          ExpressionAttributeNames: { '#made': 'made' },
          ExpressionAttributeValues: { ':one': 1 },
        },
      },
    ]);
  },
});
