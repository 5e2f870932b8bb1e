import type { Announcement, QueueRecord, QueueStore } from '../../task/queue-store.ts';
import { MAX_SHARDS } from '../../task/task.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { ItemReader } from '../engine/item-reader.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import type { Sender } from '../engine/send.ts';
import * as statements from './statements.ts';

export function createQueueStore(sender: Sender, table: string): QueueStore {
  return {
    async get(queue) {
      const { Item } = await sender.read(statements.readQueue(table, queue));
      return Item === undefined ? undefined : decodeQueue(Item);
    },

    async glance(queue) {
      const { Item } = await sender.read(statements.glanceAtQueue(table, queue));
      return Item === undefined ? undefined : decodeQueue(Item);
    },

    async change(queue, observed, to, stamp, limits) {
      const statement = statements.changeQueue(table, queue, observed, to, stamp);
      return outcomeOf(await sender.write(statement, stamp.nonce, limits), decodeQueue, decodeQueue);
    },

    async noteUse(queue, observed, use, stamp, limits) {
      const statement = statements.noteUse(table, queue, observed, use, stamp);
      return outcomeOf(await sender.write(statement, stamp.nonce, limits), decodeQueue, decodeQueue);
    },

    async announce(observed, announcement, stamp, limits) {
      const statement = statements.announceTasks(table, observed, announcement);
      return outcomeOf(await sender.write(statement, stamp.nonce, limits), decodeQueue, decodeQueue);
    },
  };
}

function decodeQueue(item: DynamoItem): QueueRecord {
  const row = new ItemReader(item);
  return {
    queue: row.string('queue'),
    isPaused: row.boolean('paused'),
    reason: row.string('reason'),
    changedAt: row.count('updatedAt'),
    nonce: row.string('nonce'),
    lanes: row.optional('lanes', (lanes) => row.texts(lanes)),
    // A worker that is told of more would look for ever.
    shards: row.optional('shards', (shards) => Math.min(MAX_SHARDS, row.count(shards))),
    announced: decodeAnnouncement(item.announced),
  };
}

/** A hint that is damaged is none, and closes no queue. */
function decodeAnnouncement(attribute: unknown): Announcement | undefined {
  if (typeof attribute !== 'object' || attribute === null) return undefined;
  const { at, before, ids, workers } = attribute as Readonly<Record<string, unknown>>;
  if (typeof at !== 'number' || typeof workers !== 'number' || !Array.isArray(ids)) return undefined;
  return {
    at,
    workers,
    before: typeof before === 'number' ? before : undefined,
    ids: ids.filter((id): id is string => typeof id === 'string' && id !== ''),
  };
}
