/**
 * A line and its positions: the tasks of one key that run one after the other. All rows of a line share a partition.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `line#<queue>#<key>`, `line` | join |
 * | v | N | schema version | join |
 * | head | S | id of the task whose turn it is; absent when the line is empty | join, advance, advance and join, close |
 * | tail | N | the last ticket given out; starts at the clock, only grows, and never restarts | join, advance and join |
 * | ttl | N, epoch s | long after the last task left | close; removed by join |
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `line#<queue>#<key>`, `place#<ticket>` | take place; deleted when its task is called, or cancelled |
 * | v | N | schema version | take place |
 * | id | S | the task that waits here | take place |
 * | tenant | S | the task's tenant, if any | take place |
 *
 * Only transactions that add a task to the line or remove it write these rows. A held task keeps the key of the
 * ready index in `heldKey` until it is called. `task-statements.ts` describes the rest of its row.
 */
import { defined } from '../../../core/defined.ts';
import type { TaskKey } from '../../task/task.ts';
import { lineKey, linePlaceKey, taskKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { createStatement, namesIn, queryStatement, updateStatement } from '../../../dynamo/engine/statement.ts';
import { indexKeyOf } from './place.ts';

export interface ObservedLine {
  readonly head: string | undefined;
  readonly tail: number | undefined;
}

/**
 * Guard: the line is as observed: no task has joined since then, and it still has, or still lacks, a head.
 * Effect: the tickets up to `last` are assigned. The first task that joins an empty line is its head.
 * Outcomes: refused = another task was faster; the row shows the current state.
 */
export function joinLine(
  table: string,
  { queue, id }: TaskKey,
  key: string,
  observed: ObservedLine,
  last: number,
): Statement<'update'> {
  const isFresh = observed.tail === undefined ? 'attribute_not_exists(#tail)' : '#tail = :tail';
  const isEmpty = observed.head === undefined;
  return updateStatement('line.join', {
    table,
    key: lineKey(queue, key),
    guard: isEmpty ? `${isFresh} AND attribute_not_exists(#head)` : `${isFresh} AND attribute_exists(#head)`,
    effect: isEmpty ? 'SET #v = :v, #head = :me, #tail = :ticket REMOVE #ttl' : 'SET #tail = :ticket',
    values: {
      ':ticket': last,
      ...defined({ ':tail': observed.tail }),
      ...(isEmpty ? { ':v': SCHEMA_VERSION, ':me': id } : {}),
    },
  });
}

/** Guard: the position is free. It always is for the task that got its ticket. */
export const takePlace = (
  table: string,
  { queue, id, tenant }: TaskKey & { readonly tenant?: string | undefined },
  key: string,
  ticket: number,
): Statement<'put'> =>
  createStatement('line.takePlace', table, {
    ...linePlaceKey(queue, key, ticket),
    v: SCHEMA_VERSION,
    id,
    ...defined({ tenant }),
  });

/** Guard: the position is taken. Outcomes: refused = its task was called, or left. */
export function leavePlace(table: string, queue: string, key: string, ticket: number): Statement<'delete'> {
  const guard = 'attribute_exists(#pk)';
  return {
    verb: 'line.leavePlace',
    kind: 'delete',
    input: {
      TableName: table,
      Key: { ...linePlaceKey(queue, key, ticket) },
      ConditionExpression: guard,
      ExpressionAttributeNames: namesIn(guard),
    },
  };
}

/**
 * Guard: it is the turn of `from`.
 * Effect: it is the turn of `to`.
 * Outcomes: refused = it is not the turn of `from`.
 */
export function advanceLine(table: string, from: TaskKey, key: string, to: string): Statement<'update'> {
  return updateStatement('line.advance', {
    table,
    key: lineKey(from.queue, key),
    guard: '#head = :me',
    effect: 'SET #head = :next',
    values: { ':me': from.id, ':next': to },
  });
}

/**
 * Guard: it is the turn of `from`, and no task has joined since the line was observed.
 * Effect: it is the turn of `to`, and the tickets up to `last` are assigned, because tasks join while this one leaves.
 * Outcomes: refused = it is not the turn of `from`, or another task has joined.
 */
export function advanceAndJoinLine(
  table: string,
  from: TaskKey,
  key: string,
  to: string,
  tickets: { readonly tail: number; readonly last: number },
): Statement<'update'> {
  return updateStatement('line.advanceAndJoin', {
    table,
    key: lineKey(from.queue, key),
    guard: '#head = :me AND #tail = :tail',
    effect: 'SET #head = :next, #tail = :ticket',
    values: { ':me': from.id, ':next': to, ':tail': tickets.tail, ':ticket': tickets.last },
  });
}

/**
 * Guard: it is the turn of `last`, and no task has joined since the line was observed.
 * Effect: the line is empty.
 * Outcomes: refused = another task has joined.
 */
export function closeLine(
  table: string,
  last: TaskKey,
  key: string,
  tail: number,
  { now }: { readonly now: number },
): Statement<'update'> {
  return updateStatement('line.close', {
    table,
    key: lineKey(last.queue, key),
    guard: '#head = :me AND #tail = :tail',
    effect: 'SET #ttl = :ttl REMOVE #head',
    values: { ':me': last.id, ':tail': tail, ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.task) },
  });
}

/**
 * Guard: it is held at this position.
 * Effect: it enters the ready index. It may not be due yet, but it still blocks the tasks behind it.
 * Outcomes: refused = it has already left the line.
 */
export function callTask(
  table: string,
  task: TaskKey & { readonly tenant?: string | undefined },
  ticket: number,
  { nonce }: { readonly nonce: string },
): Statement<'update'> {
  return updateStatement('task.call', {
    table,
    key: taskKey(task.queue, task.id),
    guard: '#state = :ready AND #ticket = :ticket AND attribute_exists(#heldKey)',
    effect: `SET #${indexKeyOf(task)} = #heldKey, #nonce = :nonce REMOVE #heldKey`,
    values: { ':ready': 'ready', ':ticket': ticket, ':nonce': nonce },
  });
}

/** The line's own row and the first positions, in order. Strongly consistent. */
export function readLine(table: string, queue: string, key: string, limit: number): Statement<'query'> {
  const values = { ':line': lineKey(queue, key).pk };
  return queryStatement('line.get', table, '#pk = :line', values, { ConsistentRead: true, Limit: limit });
}
