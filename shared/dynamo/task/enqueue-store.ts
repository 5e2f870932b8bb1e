/** What clients that only enqueue need of the tasks' store: apart, so that their bundles stay small. */
import type { EnqueueStore } from '../../queue/task-writer.ts';
import type { ReadyTask } from '../../task/task.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import type { Sender } from '../engine/send.ts';
import type { Statement } from '../engine/statement.ts';
import { deletePayload } from '../payload/statements.ts';
import { Beginnings } from './beginnings.ts';
import { decodeTask } from './codec.ts';
import { payloadOf } from './effects.ts';
import { renewTask, replaceTask } from './operator-statements.ts';
import type { Seat } from './statements.ts';
import { enqueueTask, readTask } from './statements.ts';

export function createEnqueueStore(
  sender: Sender,
  { table, shards }: { readonly table: string; readonly shards: number },
): EnqueueStore {
  const beginnings = new Beginnings(sender, table);
  return {
    async enqueue(task, stamp, limits) {
      let written: DynamoItem | undefined;
      const write = (seat?: Seat): Statement<'put'> => {
        const statement = enqueueTask(table, task, shards, stamp, seat);
        written = statement.input.Item;
        return statement;
      };
      const result = await beginnings.begin(task, write, payloadOf(table, task, stamp), stamp, limits);
      return outcomeOf(result, (item) => decodeTask(item) as ReadyTask, decodeTask, written);
    },

    replace: (observed, task, stamp, limits) =>
      beginnings.beginAnew(
        { queue: task.queue, id: task.id },
        () => replaceTask(table, observed, task, shards, stamp),
        ...[payloadOf(table, task, stamp), stamp, limits],
      ),

    renew: (observed, task, stamp, limits) =>
      beginnings.beginAnew(
        task,
        (seat) => renewTask(table, observed, task, shards, stamp, seat),
        ...[payloadOf(table, task, stamp), stamp, limits],
      ),

    async get({ queue, id }) {
      const { Item } = await sender.read(readTask(table, queue, id));
      return Item === undefined ? undefined : decodeTask(Item);
    },

    async deletePayload(key, { nonce = '' }, limits) {
      await sender.write(deletePayload(table, key, nonce), nonce, limits);
    },
  };
}
