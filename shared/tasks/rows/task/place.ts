/**
 * The task row, continued: the index entry of a ready or running task.
 *
 * | task | index | attributes |
 * | --- | --- | --- |
 * | of no tenant | ready | `readyKey`, `readyAt` |
 * | of a tenant | directory | `directoryKey`; `directoryName`, which contains the tenant and the time that `readyAt` contains |
 * | held in a line | none | `heldKey`, which becomes `readyKey` or `directoryKey` when it is called |
 * | parked for its key | directory | `directoryKey`, `directoryName`: the key's part of the queue's parked tasks; `parkedKey`, `parkedName` are its position to return to |
 */
import type { Priority, TaskKey } from '../../task/task.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { isParkedPartition, readyPartitionKey, shardOf, tenantPartitionKey } from '../../../dynamo/engine/keys.ts';
import { tenantPlace } from './index-places.ts';
import type { UpdateParts } from '../../../dynamo/engine/statement.ts';

type Standing = TaskKey & { readonly tenant?: string | undefined };

/** A part of a `SET` clause, and its values. */
interface Part {
  readonly effect: string;
  readonly values: UpdateParts['values'];
}

/** The attribute that brings a task into its index. */
export function indexKeyOf({ tenant }: { readonly tenant?: string | undefined }): 'readyKey' | 'directoryKey' {
  return tenant === undefined ? 'readyKey' : 'directoryKey';
}

/** As attributes of a new row. */
export function placeOf(
  task: Standing & { readonly priority: Priority; readonly runAt: number },
  shards: number,
  isHeld: boolean,
): Readonly<Record<string, unknown>> {
  const { id, tenant, runAt } = task;
  return {
    [isHeld ? 'heldKey' : indexKeyOf(task)]: partitionOf(task, shards),
    readyAt: runAt,
    ...(tenant === undefined ? {} : { directoryName: tenantPlace(tenant, runAt, id) }),
  };
}

/** Moves a task to another index position, for another priority or time. */
export function moveTo(
  task: Standing & { readonly priority: Priority },
  readyAt: number,
  shards: number,
  isHeld: boolean,
): Part {
  const { effect, values } = moveInTime(task, readyAt);
  return {
    effect: `#${isHeld ? 'heldKey' : indexKeyOf(task)} = :place, ${effect}`,
    values: { ...values, ':place': partitionOf(task, shards) },
  };
}

/**
 * Whether a row is a parked task.
 * Writers that ignore parking make a task visible with their writes, but leave `parkedKey`.
 */
export function isParkedItem(item: DynamoItem): boolean {
  return item.parkedKey !== undefined && item.readyKey === undefined && isParkedPartition(item.directoryKey);
}

/** Attributes to remove from a parked row that moves to another position: a tenant's position is overwritten. */
export function unparked({ isParked, tenant }: { readonly isParked: boolean } & Pick<Standing, 'tenant'>): string {
  if (!isParked) return '';
  const own = '#parkedKey, #parkedName';
  return tenant === undefined ? `${own}, #directoryKey, #directoryName` : own;
}

/** Moves the entry to another time in the same partition. */
export function moveInTime({ id, tenant }: Standing, readyAt: number): Part {
  if (tenant === undefined) return { effect: '#readyAt = :readyAt', values: { ':readyAt': readyAt } };
  return {
    effect: '#readyAt = :readyAt, #directoryName = :placeName',
    values: { ':readyAt': readyAt, ':placeName': tenantPlace(tenant, readyAt, id) },
  };
}

function partitionOf({ queue, id, priority, tenant }: Standing & { readonly priority: Priority }, shards: number) {
  const shard = shardOf(id, shards);
  return tenant === undefined ? readyPartitionKey(queue, priority, shard) : tenantPartitionKey(queue, priority, shard);
}
