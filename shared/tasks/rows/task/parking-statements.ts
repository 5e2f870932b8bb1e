/**
 * The task row, continued: a task that waits for a slot of its key, hidden from workers. `tasks/task/parking.ts` explains the reason.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | directoryKey, directoryName | S | while parked: `parked#<queue>#<shard of its key>`; hash of its key, priority, `readyAt`, hash of its id | park; removed by put back |
 * | parkedKey | S | while parked: the partition that it goes back to, of the ready index, or of tenants | park; removed by put back |
 * | parkedName | S | while parked, if it has a tenant: its position in that partition | park; removed by put back |
 *
 * A worker that read the row before it was parked may still claim it. A writer that read it then may leave these attributes behind,
 * or leave the task in both indexes. `isParkedItem` and unparking allow for all of this.
 */
import type { ReadyTask } from '../../task/task.ts';
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { RowKey } from '../../../dynamo/engine/keys.ts';
import { parkedPartitionKey, taskKey } from '../../../dynamo/engine/keys.ts';
import { parkedPlace } from './index-places.ts';
import { DIRECTORY_INDEX } from '../../../dynamo/engine/schema.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { queryStatement, updateStatement } from '../../../dynamo/engine/statement.ts';
import { moveInTime } from './place.ts';
import { IS_DUE } from './task-statements.ts';

/** An entry of the parked tasks: the row, and its position. */
export interface ParkedEntry {
  readonly key: RowKey;
  readonly place: string;
}

/**
 * Guard: ready, due, visible to workers, and not written since it was observed: a worker that has observed it before cannot claim it any
 * more.
 * Effect: parked.
 * Outcomes: refused = claimed, changed, or parked by another worker.
 */
export function parkTask(table: string, observed: ReadyTask, key: string, { now, nonce }: Stamp): Statement<'update'> {
  const { queue, id, tenant, priority, readyAt } = observed;
  const [isInSight, remember, leave] =
    tenant === undefined
      ? ['attribute_exists(#readyKey)', '#parkedKey = #readyKey', ' REMOVE #readyKey']
      : ['attribute_not_exists(#heldKey)', '#parkedKey = #directoryKey, #parkedName = #directoryName', ''];
  return updateStatement('task.park', {
    table,
    key: taskKey(queue, id),
    guard: `${IS_DUE} AND #nonce = :observedNonce AND ${isInSight}`,
    effect: `SET ${remember}, #directoryKey = :parked, #directoryName = :place, #nonce = :nonce${leave}`,
    omitsNewRow: true,
    values: {
      ':ready': 'ready',
      ':observedCounter': observed.leaseCounter,
      ':observedNonce': observed.nonce,
      ':parked': parkedPartitionKey(queue, key),
      ':place': parkedPlace({ key, priority, readyAt }, id),
      ':now': now,
      ':nonce': nonce,
    },
  });
}

/**
 * Guard: it is at this position among the parked tasks.
 * Effect: visible to workers again. The nonce stays, so a repeated or late write changes nothing, and a worker that observed the task can
 * continue.
 * Outcomes: refused = it was already unparked, or has ended.
 */
export function putBackTask(
  table: string,
  { key, place }: ParkedEntry,
  { isOfTenant }: { readonly isOfTenant: boolean },
): Statement<'update'> {
  const dropped = 'REMOVE #parkedKey, #parkedName';
  // A writer that ignores parking may already have made the task visible. Then that position is the newer one.
  const effect = isOfTenant
    ? `SET #directoryKey = #parkedKey, #directoryName = #parkedName ${dropped}`
    : `SET #readyKey = if_not_exists(#readyKey, #parkedKey) ${dropped}, #directoryKey, #directoryName`;
  const isSuch = isOfTenant ? 'attribute_exists(#parkedName)' : 'attribute_not_exists(#parkedName)';
  return updateStatement('task.putBack', {
    table,
    key,
    guard: `#directoryName = :place AND attribute_exists(#parkedKey) AND ${isSuch}`,
    effect,
    values: { ':place': place },
  });
}

/**
 * Guard: ready, due, and not written since it was observed.
 * Effect: due later, and visible to workers. It starts in the next window of its key's rate, and its worker then unparks other tasks.
 * Outcomes: refused = claimed, changed, or parked.
 */
export function deferTask(
  table: string,
  observed: ReadyTask,
  readyAt: number,
  { now, nonce }: Stamp,
): Statement<'update'> {
  const later = moveInTime(observed, readyAt);
  return updateStatement('task.defer', {
    table,
    key: taskKey(observed.queue, observed.id),
    guard: `${IS_DUE} AND #nonce = :observedNonce`,
    effect: `SET ${later.effect}, #nonce = :nonce`,
    omitsNewRow: true,
    values: {
      ...later.values,
      ':ready': 'ready',
      ':observedCounter': observed.leaseCounter,
      ':observedNonce': observed.nonce,
      ':now': now,
      ':nonce': nonce,
    },
  });
}

/** Parked tasks of one partition after a position, in order, as keys. Eventually consistent. */
export function pageOfParked(
  table: string,
  partition: string,
  query: { readonly from: string; readonly to: string; readonly limit: number },
): Statement<'query'> {
  return queryStatement(
    'task.pageOfParked',
    table,
    '#directoryKey = :partition AND #directoryName BETWEEN :from AND :to',
    { ':partition': partition, ':from': query.from, ':to': query.to },
    { IndexName: DIRECTORY_INDEX.name, Limit: query.limit },
  );
}
