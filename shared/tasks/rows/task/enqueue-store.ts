/** The part of the task store for clients that enqueue, including lines and other work for existing tasks. */
import type { EnqueueStore } from '../../queue/task-writer.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { deletePayload } from '../payload-statements.ts';
import type { TaskStoreOptions } from './adding-store.ts';
import { createAddingStore, writeAlone } from './adding-store.ts';
import { TaskCreation } from './task-creation.ts';
import { decodeTask } from './task-codec.ts';
import { payloadOf } from './effects.ts';
import { followTask } from './follower-statements.ts';
import { renewTask, replaceTask } from './operator-statements.ts';

export function createEnqueueStore(sender: Sender, options: TaskStoreOptions): EnqueueStore {
  const { table, shards } = options;
  const beginnings = new TaskCreation(sender, table);
  return {
    ...createAddingStore(sender, options, decodeTask, (...beginning) => beginnings.begin(...beginning)),

    replace: (observed, task, stamp) =>
      beginnings.beginAnew(
        { queue: task.queue, id: task.id },
        () => ({ own: replaceTask(table, observed, task, shards, stamp), beside: payloadOf(table, task, stamp) }),
        stamp,
      ),

    async follow(observed, task, stamp) {
      const own = followTask(table, observed, task, stamp);
      const beside = payloadOf(table, task, stamp, true);
      const isOwn = (item: DynamoItem | undefined) => (item?.follower as DynamoItem | undefined)?.nonce === stamp.nonce;
      const result = await writeAlone(sender, observed, { own, beside }, stamp);
      if (result.kind === 'applied' || isOwn(result.item)) return { kind: 'applied', row: undefined };
      const current = result.item === undefined ? undefined : decodeTask(result.item);
      return { kind: 'refused', current, earlierAttempt: result.earlierAttempt };
    },

    renew: (observed, task, stamp) =>
      beginnings.beginAnew(
        task,
        (seat) => ({
          own: renewTask(table, observed, task, shards, stamp, seat),
          beside: payloadOf(table, task, stamp),
        }),
        stamp,
      ),

    async deletePayload(key, payload, limits) {
      await sender.write(deletePayload(table, key, payload), payload.nonce ?? '', limits);
    },
  };
}
