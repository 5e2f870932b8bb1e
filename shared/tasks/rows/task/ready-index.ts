/**
 * The index of tasks that may be due: the ready index, and for tasks of tenants and of keys with a limit a part of the directory.
 * One partition per queue, priority and shard, ordered by `readyAt`; its entries are the keys of task rows and nothing else.
 * A claim does not move the entry, which keeps its cost at one unit. So the entry's task may be running or just finished.
 */
import type { ReadyPartition } from '../../task/task-store.ts';
import { readyPartitionKey, groupPartitionKey } from '../../../dynamo/engine/keys.ts';
import { DIRECTORY_INDEX, READY_INDEX } from '../../../dynamo/engine/schema.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { queryStatement } from '../../../dynamo/engine/statement.ts';

/** Due entries of one index partition, oldest first. Eventually consistent: the row decides. */
export function pageOfReady(
  table: string,
  { queue, priority, shard }: ReadyPartition,
  query: { readonly now: number; readonly from?: number; readonly limit: number; readonly after?: unknown },
): Statement<'query'> {
  const { now, from } = query;
  return queryStatement(
    'task.page',
    table,
    `#readyKey = :partition AND ${from === undefined ? '#readyAt <= :now' : '#readyAt BETWEEN :from AND :now'}`,
    {
      ':partition': readyPartitionKey(queue, priority, shard),
      ':now': now,
      ...(from !== undefined && { ':from': from }),
    },
    { IndexName: READY_INDEX.name, Limit: query.limit, after: query.after },
  );
}

/** Entries of the groups of one partition, after a position. Eventually consistent, as above. */
export function pageOfGroups(
  table: string,
  { queue, priority, shard }: ReadyPartition,
  query: { readonly after: string; readonly limit: number },
): Statement<'query'> {
  return queryStatement(
    'task.pageOfGroups',
    table,
    '#directoryKey = :partition AND #directoryName > :after',
    { ':partition': groupPartitionKey(queue, priority, shard), ':after': query.after },
    { IndexName: DIRECTORY_INDEX.name, Limit: query.limit },
  );
}
