/** The part of the task store for clients that enqueue, including lines and other work for existing tasks. */
import type { EnqueueStore } from '../../queue/task-writer.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { MismatchError } from '../../../core/errors.ts';
import { describeTask } from '../../task/task.ts';
import type { TaskStoreOptions } from './adding-store.ts';
import { createAddingStore, keptSeat, TaskCreation } from './adding-store.ts';
import { decodeTask } from './task-codec.ts';
import { followTask } from './follower-statements.ts';
import { Lines, decodeLine } from './lines.ts';
import { renewTask, replaceTask } from './operator-statements.ts';

export function createEnqueueStore(sender: Sender, options: TaskStoreOptions): EnqueueStore {
  const { table, shards } = options;
  const beginnings = new TaskCreation(sender, table);
  const lines = new Lines(sender, table);
  return {
    ...createAddingStore(sender, options, decodeTask, {
      join: (...beginning) => beginnings.begin(...beginning),
      seating: ({ queue, line: key }, stamp, seen) =>
        lines.plan({ queue, key, joiners: 1 }, stamp, seen && { line: decodeLine(seen) }),
    }),

    replace: (observed, task, stamp) =>
      beginnings.beginAnew(
        { queue: task.queue, id: task.id },
        () => ({ own: replaceTask(table, observed, task, shards, stamp) }),
        stamp,
      ),

    async follow(observed, task, stamp) {
      const isOwn = (item: DynamoItem | undefined) => (item?.follower as DynamoItem | undefined)?.nonce === stamp.nonce;
      const result = await sender.write(followTask(table, observed, task, stamp), stamp.nonce);
      if (result.kind === 'applied' || isOwn(result.item)) return { kind: 'applied', row: undefined };
      const current = result.item === undefined ? undefined : decodeTask(result.item);
      return { kind: 'refused', current, earlierAttempt: result.earlierAttempt };
    },

    renew(observed, task, stamp) {
      const { queue, id } = task;
      const kept = keptSeat(observed);
      // Other tasks may not overtake tasks that joined the line after it.
      if (kept !== undefined && kept.key !== task.line)
        throw new MismatchError(
          id,
          `${describeTask(task)} was cancelled before its turn in the line of key ${kept.key}, and has kept its place: ` +
            'until its turn, its id is only for a task of the same line; use another id, or try again later',
        );
      const plan = (seat = kept) => ({ own: renewTask(table, observed, task, shards, stamp, seat) });
      return beginnings.beginAnew(kept === undefined ? task : { queue, id }, plan, stamp);
    },
  };
}
