/**
 * Reads tasks and the ready index. This is all that the waker needs of the task store; a separate module keeps the waker's bundle small.
 */
import type { TaskStore } from '../../task/task-store.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { CorruptItemError } from '../../../core/errors.ts';
import { readInBatches } from '../../../dynamo/engine/batches.ts';
import type { RowKey } from '../../../dynamo/engine/keys.ts';
import { lineKey, splitKey, taskConcurrencyKey } from '../../../dynamo/engine/keys.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { ownEntries } from '../index-entries.ts';
import { decodeKey, readKeys } from '../key-statements.ts';
import { decodeLine } from './lines.ts';
import { readLines } from './line-statements.ts';
import { parseGroupPlace } from './index-places.ts';
import { pageOfReady, pageOfGroups } from './ready-index.ts';
import { decodeTask } from './task-codec.ts';
import { readTasks } from './task-statements.ts';

export type TaskReader = Pick<TaskStore, 'getMany' | 'page' | 'pageOfGroups' | 'getKeys' | 'getTurns'>;

export function createTaskReader(sender: Sender, table: string): TaskReader {
  const tasks = new Rows(sender, decodeTask);
  return {
    // One damaged row must not block the others, even if the caller does not ask for damaged rows.
    getMany: (keys, onDamaged = () => undefined) => tasks.getMany(table, readTasks(table, keys), onDamaged),

    async getKeys(queue, keys, onDamaged) {
      const items = keys.length === 0 ? [] : await readInBatches(sender, table, readKeys(table, queue, keys));
      return decodedEach(keys, (key) => taskConcurrencyKey(queue, key), items, decodeKey, onDamaged);
    },

    async getTurns(queue, keys, { isConsistent = false, onDamaged } = {}) {
      const read = readLines(table, queue, keys, isConsistent);
      const items = keys.length === 0 ? [] : await readInBatches(sender, table, read);
      return decodedEach(
        keys,
        (key) => lineKey(queue, key),
        items,
        (item) => decodeLine(item)?.turn ?? 0,
        onDamaged,
      );
    },

    async page(partition, query) {
      const { Items, LastEvaluatedKey } = await sender.read(pageOfReady(table, partition, query));
      const own = ownEntries(Items, { kind: 'task', queue: partition.queue }, query.onDamaged);
      return { hints: own.map(decodeHint), next: LastEvaluatedKey };
    },

    async pageOfGroups(partition, query) {
      const { Items, LastEvaluatedKey } = await sender.read(pageOfGroups(table, partition, query));
      const own = ownEntries(Items, { kind: 'task', queue: partition.queue }, query.onDamaged);
      const last = LastEvaluatedKey === undefined ? undefined : Items?.at(-1);
      return { entries: own.map(decodeGroupEntry), next: last && String(last.directoryName) };
    },
  };
}

/** Decodes the row of each key, which may be missing. */
function decodedEach<Row>(
  keys: readonly string[],
  rowOf: (key: string) => RowKey,
  items: readonly DynamoItem[],
  decode: (item: DynamoItem | undefined) => Row,
  onDamaged: (error: unknown) => void = () => undefined,
): ReadonlyMap<string, Row> {
  const byRow = new Map(items.map((item) => [String(item.pk), item]));
  return new Map(
    keys.flatMap((key) => {
      try {
        return [[key, decode(byRow.get(rowOf(key).pk))] as const];
      } catch (error) {
        if (!(error instanceof CorruptItemError)) throw error;
        onDamaged(error);
        return [];
      }
    }),
  );
}

function decodeHint(item: DynamoItem) {
  const [, queue = '', id = ''] = splitKey(String(item.pk));
  return { queue, id, readyAt: Number(item.readyAt) };
}

function decodeGroupEntry(item: DynamoItem) {
  const place = String(item.directoryName);
  const { tenant, limit, line, readyAt, end, tenantEnd } = parseGroupPlace(place);
  return { hint: { ...decodeHint(item), readyAt, tenant, limit, line }, place, end, tenantEnd };
}
