/** What clients that enqueue need of the tasks' store, lines and other work for tasks that are there included. */
import type { EnqueueStore } from '../../queue/task-writer.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { deletePayload } from '../payload-statements.ts';
import { createAddingStore } from './adding-store.ts';
import { Beginnings } from './beginnings.ts';
import { decodeTask } from './task-codec.ts';
import { payloadOf } from './effects.ts';
import { renewTask, replaceTask } from './operator-statements.ts';

export function createEnqueueStore(
  sender: Sender,
  { table, shards }: { readonly table: string; readonly shards: number },
): EnqueueStore {
  const beginnings = new Beginnings(sender, table);
  return {
    ...createAddingStore(sender, { table, shards }, decodeTask, (...beginning) => beginnings.begin(...beginning)),

    replace: (observed, task, stamp) =>
      beginnings.beginAnew(
        { queue: task.queue, id: task.id },
        () => ({ own: replaceTask(table, observed, task, shards, stamp), beside: payloadOf(table, task, stamp) }),
        stamp,
      ),

    renew: (observed, task, stamp) =>
      beginnings.beginAnew(
        task,
        (seat) => ({
          own: renewTask(table, observed, task, shards, stamp, seat),
          beside: payloadOf(table, task, stamp),
        }),
        stamp,
      ),

    async deletePayload(key, { nonce = '' }, limits) {
      await sender.write(deletePayload(table, key, nonce), nonce, limits);
    },
  };
}
