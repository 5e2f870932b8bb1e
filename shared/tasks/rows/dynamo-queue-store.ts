import type { ListedQueues } from '../task/listed-queues.ts';
import type { Heard, QueueRecord, QueueStore, StartsNote, WorkerHints } from '../task/queue-store.ts';
import { MAX_SHARDS } from '../task/task.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';
import { Rows } from '../../dynamo/engine/rows.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import * as statements from './queue-statements.ts';

/** @param listed is told which queues list their finished tasks */
export function createQueueStore(sender: Sender, table: string, listed?: ListedQueues): QueueStore {
  const rows = new Rows(sender, decodeQueue);
  const noting = async (queue: string, read: Promise<QueueRecord | undefined>): Promise<QueueRecord | undefined> => {
    const record = await read;
    listed?.note(queue, record, sender.patience.clock.monotonic());
    return record;
  };
  return {
    get: (queue) => noting(queue, rows.get(statements.readQueue(table, queue))),

    glance: (queue) => noting(queue, rows.get(statements.glanceAtQueue(table, queue))),

    change: (queue, observed, to, stamp) =>
      rows.write(statements.changeQueue(table, queue, observed, to, stamp), stamp),

    noteUse: (queue, observed, use, stamp) => rows.write(statements.noteUse(table, queue, observed, use, stamp), stamp),

    async listFinished(queue, observed, isOn, stamp) {
      const outcome = await rows.write(statements.listFinished(table, queue, observed, isOn, stamp), stamp);
      if (outcome.kind === 'applied') listed?.note(queue, outcome.row, sender.patience.clock.monotonic());
      return outcome;
    },

    announceNames: (queue, observed, names, stamp, limits) =>
      rows.write(statements.announceNames(table, queue, observed, names, stamp), stamp, limits),

    noteHints: (queue, hints, stamp, limits) => rows.write(statements.noteHints(table, queue, hints), stamp, limits),

    noteStarts: (queue, observed, starts, stamp) =>
      rows.write(statements.noteStarts(table, queue, observed, starts, stamp), stamp),
  };
}

function decodeQueue(item: DynamoItem): QueueRecord {
  const row = new ItemReader(item);
  return {
    queue: row.string('queue'),
    isPaused: row.boolean('paused'),
    pausedTenants: row.optional('pausedTenants', (tenants) => row.texts(tenants)),
    reason: row.string('reason'),
    changedAt: row.count('updatedAt'),
    nonce: row.string('nonce'),
    lanes: row.optional('lanes', (lanes) => row.texts(lanes)),
    // Caps the number, because a worker would poll any larger number of shards.
    shards: row.optional('shards', (shards) => Math.min(MAX_SHARDS, row.count(shards))),
    ...statements.listingIn(item),
    tookMs: typeof item.took === 'number' && item.took >= 0 ? item.took : undefined,
    workerSettings: decodeWorkerSettings(item),
    unknownNames: decodeNames(item.unknown),
    announcedNames: decodeNames(item.names),
    starts: decodeStarts(item.starts),
  };
}

function decodeNames(names: unknown): readonly string[] | undefined {
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : undefined;
}

function decodeWorkerSettings({ concurrency, startWithin }: DynamoItem): WorkerHints | undefined {
  if (typeof concurrency !== 'number' || typeof startWithin !== 'number') return undefined;
  return concurrency > 0 && startWithin >= 0 ? { concurrency, startWithinMs: startWithin } : undefined;
}

/** A queue's first note replaces nothing. An unreadable note is left to operators, and wakers plan without it. */
function decodeStarts(note: unknown): StartsNote | undefined {
  if (!isObject(note)) return undefined;
  const { count, token, untilMs, waitMs, heard, nonce } = note;
  if (typeof count !== 'number' || typeof token !== 'number' || typeof untilMs !== 'number') return undefined;
  if (typeof waitMs !== 'number' || typeof nonce !== 'string' || !Array.isArray(heard)) return undefined;
  return heard.every(isHeard) ? { count, token, untilMs, waitMs, heard, nonce } : undefined;
}

function isHeard(value: unknown): value is Heard {
  if (!isObject(value) || typeof value.at !== 'number' || typeof value.count !== 'number') return false;
  return Array.isArray(value.ids) && value.ids.length > 0 && value.ids.every((id) => typeof id === 'string');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
