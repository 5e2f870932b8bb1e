/** Small tasks by the hundred: each thumbnail is a task, though sixteen of them share a row. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DoNotRetry, defineTask } from 'leasehold/tasks';
import * as z from 'zod';

export const thumbnail = defineTask({
  name: 'thumbnail',
  input: z.object({ album: z.string(), picture: z.number(), table: z.string() }),
  bulk: { packSize: 16, flushInterval: '500ms' },
  async run({ album, picture, table }, task) {
    await sleep(10, undefined, { signal: task.signal });
    // Only this item is dead: the others of its pack continue, and an operator finds it.
    if (picture % 100 === 99) throw new DoNotRetry('the picture is damaged');
    return await task.commit(undefined, [
      {
        Update: {
          TableName: table,
          Key: thumbnailKey(album, picture),
          UpdateExpression: 'ADD #made :one',
          ExpressionAttributeNames: { '#made': 'made' },
          ExpressionAttributeValues: { ':one': 1 },
        },
      },
    ]);
  },
});

export function thumbnailKey(album: string, picture: number): { readonly pk: string; readonly sk: string } {
  return { pk: `${album}#${picture}`, sk: 'thumbnail' };
}
