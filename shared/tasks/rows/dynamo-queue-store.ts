import type { QueueRecord, QueueStore, WorkerHints } from '../task/queue-store.ts';
import { MAX_SHARDS } from '../task/task.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';
import { Rows } from '../../dynamo/engine/rows.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import * as statements from './queue-statements.ts';

export function createQueueStore(sender: Sender, table: string): QueueStore {
  const rows = new Rows(sender, decodeQueue);
  return {
    get: (queue) => rows.get(statements.readQueue(table, queue)),

    glance: (queue) => rows.get(statements.glanceAtQueue(table, queue)),

    change: (queue, observed, to, stamp) =>
      rows.write(statements.changeQueue(table, queue, observed, to, stamp), stamp),

    noteUse: (queue, observed, use, stamp) => rows.write(statements.noteUse(table, queue, observed, use, stamp), stamp),

    noteHints: (queue, hints, stamp, limits) => rows.write(statements.noteHints(table, queue, hints), stamp, limits),
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
    tookMs: typeof item.took === 'number' && item.took >= 0 ? item.took : undefined,
    workerSettings: decodeWorkerSettings(item),
    unknownNames: decodeNames(item.unknown),
    announcedNames: decodeNames(item.names),
  };
}

function decodeNames(names: unknown): readonly string[] | undefined {
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : undefined;
}

function decodeWorkerSettings({ concurrency, startWithin }: DynamoItem): WorkerHints | undefined {
  if (typeof concurrency !== 'number' || typeof startWithin !== 'number') return undefined;
  return concurrency > 0 && startWithin >= 0 ? { concurrency, startWithinMs: startWithin } : undefined;
}
