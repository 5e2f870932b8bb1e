import { NEVER } from '../../task/batch.ts';
import type { TaskOperatorStore } from '../../task/task-operator-store.ts';
import { decodeBatch, isPending, readBatch } from '../batch-statements.ts';
import { decodeTask } from './task-codec.ts';
import { splitKey } from '../../../dynamo/engine/keys.ts';
import { ownEntries } from '../index-entries.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import { DEAD_SHARDS } from '../../../dynamo/engine/schema.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { pageOfEnded } from './ended-list-store.ts';
import * as statements from './operator-statements.ts';
import type { TaskStoreOptions } from './adding-store.ts';
import { keptSeat, TaskCreation } from './adding-store.ts';
import { readTasks } from './task-statements.ts';
import { Lines } from './lines.ts';
import { changeLine } from './line-statements.ts';
import { decodeKey, readKey, recountKey } from '../key-statements.ts';

export function createTaskOperatorStore(sender: Sender, { table, shards }: TaskStoreOptions): TaskOperatorStore {
  const rows = new Rows(sender, decodeTask);
  const batches = new Rows(sender, decodeBatch);
  const lines = new Lines(sender, table);
  const creation = new TaskCreation(sender, table);
  return {
    async requestCancel(observed, cancellation, stamp) {
      const statement = statements.requestCancel(table, observed, cancellation, stamp);
      const { kind, earlierAttempt } = await sender.transact(statement, stamp.nonce);
      return { kind: kind === 'applied' ? 'applied' : 'refused', earlierAttempt };
    },

    reschedule: (observed, to, stamp) =>
      rows.write(statements.rescheduleTask(table, observed, to, shards, stamp), stamp),

    revive: (observed, runAt, stamp) =>
      creation.beginAnew(
        {
          queue: observed.queue,
          id: observed.id,
          line: keptSeat(observed) === undefined ? observed.links?.line?.key : undefined,
        },
        async (seat = keptSeat(observed)) => {
          const { children } = observed;
          const batch = children && (await batches.get(readBatch(table, children)));
          const hasOpen = batch !== undefined && batch.pending > 0;
          const again = { runAt: hasOpen ? NEVER : runAt, keepsChildren: batch !== undefined };
          return {
            own: statements.reviveTask(table, observed, again, shards, stamp, seat),
            ...(hasOpen && { others: [isPending(table, batch)] }),
          };
        },
        stamp,
      ),

    async getKey(queue, key) {
      const { Item } = await sender.read(readKey(table, queue, key));
      return { ...decodeKey(Item), nonce: Item === undefined ? undefined : new ItemReader(Item).string('nonce') };
    },

    async recountKey(queue, key, { observed, running }, stamp) {
      const to = { observedNonce: observed.nonce, running };
      return sender.write(recountKey(table, queue, key, to, stamp), stamp.nonce);
    },

    getManyNow: (keys, onDamaged) => rows.getMany(table, readTasks(table, keys, { consistent: true }), onDamaged),

    getLine: (queue, key) => lines.get(queue, key),

    passLine: (queue, key, { observed, to }, stamp) =>
      sender.write(
        changeLine(table, { queue, key }, observed, { pass: observed.turn, to, joins: 0 }, stamp),
        stamp.nonce,
      ),

    pageOfEnded: (query, after) => pageOfEnded(sender, table, query, after),

    async pageOfDead(queue, after) {
      const { shard, within } = (after ?? { shard: 0, within: undefined }) as DeadCursor;
      const statement = statements.pageOfDead(table, queue, shard, within);
      const { Items, LastEvaluatedKey } = await sender.read(statement);
      const keys = ownEntries(Items, { kind: 'task', queue }).map(({ pk, directoryName }) => ({
        queue,
        id: splitKey(String(pk))[2] ?? '',
        // The entry's name begins with the time of death, in ISO 8601.
        diedAt: Date.parse(String(directoryName).slice(0, ISO_LENGTH)),
      }));
      return { keys, next: nextCursor(shard, LastEvaluatedKey) };
    },
  };
}

/** `2026-11-24T20:21:05.000Z`. */
const ISO_LENGTH = 24;

/** Position of a walk through the list: the part, and the last entry read. */
interface DeadCursor {
  readonly shard: number;
  readonly within: unknown;
}

function nextCursor(shard: number, within: unknown): DeadCursor | undefined {
  if (within !== undefined) return { shard, within };
  return shard + 1 < DEAD_SHARDS ? { shard: shard + 1, within: undefined } : undefined;
}
