/** Helpers for tests of bulk tasks: packs, items, and effects in the user's own rows. */
import type { BulkItem } from '../../shared/tasks/bulk/put-bulk.ts';
import type { PackOf } from '../../shared/tasks/task/pack.ts';
import { isPack } from '../../shared/tasks/task/pack.ts';
import type { UserWrite } from '../../shared/tasks/task/task-store.ts';
import type { RunningTask, TaskRecord } from '../../shared/tasks/task/task.ts';
import type { QueueUnderTest } from './queue.ts';
import type { TestStore } from './stores.ts';
import { stamp } from './tasks.ts';

export interface BulkUnderTest {
  item(id: string): Promise<BulkItem | undefined>;
  pack(id: string): Promise<PackOf<TaskRecord>>;
  /** Claims a pack that waits. */
  claimed(id: string, session: string): Promise<RunningTask>;
  /** Adds one to a row of the user's table. */
  increment(name: string): UserWrite;
  /** How often that was done. */
  effectOf(name: string): Promise<number | undefined>;
}

export function bulkOf(q: QueueUnderTest, { driver }: TestStore): BulkUnderTest {
  const effectKey = (name: string) => ({ pk: `effect#${q.queue}#${name}`, sk: 'effect' });
  const pack = async (id: string): Promise<PackOf<TaskRecord>> => {
    const found = await q.tasks.get({ queue: q.queue, id });
    if (found === undefined || !isPack(found)) throw new Error(`${id} is no pack`);
    return found;
  };
  return {
    pack,
    item: (id) => q.client.getItem(id, q.queue),
    async claimed(id, session) {
      const waiting = await pack(id);
      if (waiting.state !== 'ready') throw new Error('not ready');
      const outcome = await q.tasks.claim(waiting, session, stamp());
      if (outcome.kind !== 'applied') throw new Error('refused');
      return outcome.row;
    },
    increment: (name) => ({
      Update: {
        TableName: q.table,
        Key: effectKey(name),
        UpdateExpression: 'ADD #count :one',
        ExpressionAttributeNames: { '#count': 'count' },
        ExpressionAttributeValues: { ':one': 1 },
      },
    }),
    async effectOf(name) {
      const request = { TableName: q.table, Key: effectKey(name), ConsistentRead: true };
      const { Item } = await driver.attempt('get', request, new AbortController().signal);
      return Item?.count as number | undefined;
    },
  };
}
