/**
 * Reads tasks and the ready index. This is all that the waker needs of the task store; a separate module keeps the waker's bundle small.
 */
import type { TaskStore } from '../../task/task-store.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { splitKey } from '../../../dynamo/engine/keys.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { ownEntries } from '../index-entries.ts';
import { parseTenantPlace } from './index-places.ts';
import { pageOfReady, pageOfTenants } from './ready-index.ts';
import { decodeTask } from './task-codec.ts';
import { readTasks } from './task-statements.ts';

export type TaskReader = Pick<TaskStore, 'getMany' | 'page' | 'pageOfTenants'>;

export function createTaskReader(sender: Sender, table: string): TaskReader {
  const tasks = new Rows(sender, decodeTask);
  return {
    // One damaged row must not block the others, even if the caller does not ask for damaged rows.
    getMany: (keys, onDamaged = () => undefined) => tasks.getMany(table, readTasks(table, keys), onDamaged),

    async page(partition, query) {
      const { Items, LastEvaluatedKey } = await sender.read(pageOfReady(table, partition, query));
      const own = ownEntries(Items, { kind: 'task', queue: partition.queue }, query.onDamaged);
      return { hints: own.map(decodeHint), next: LastEvaluatedKey };
    },

    async pageOfTenants(partition, query) {
      const { Items, LastEvaluatedKey } = await sender.read(pageOfTenants(table, partition, query));
      const own = ownEntries(Items, { kind: 'task', queue: partition.queue }, query.onDamaged);
      const last = LastEvaluatedKey === undefined ? undefined : Items?.at(-1);
      return { entries: own.map(decodeTenantEntry), next: last && String(last.directoryName) };
    },
  };
}

function decodeHint(item: DynamoItem) {
  const [, queue = '', id = ''] = splitKey(String(item.pk));
  return { queue, id, readyAt: Number(item.readyAt) };
}

function decodeTenantEntry(item: DynamoItem) {
  const place = String(item.directoryName);
  const { tenant, readyAt, end } = parseTenantPlace(place);
  return { hint: { ...decodeHint(item), readyAt, tenant }, place, end };
}
