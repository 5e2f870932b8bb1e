/**
 * The task row, continued: the index entry of a ready or running task.
 *
 * | task | index | attributes |
 * | --- | --- | --- |
 * | of no tenant and no key; or of a key, and not due when it was written | ready | `readyKey`, `readyAt` |
 * | of a tenant | directory | `directoryKey`; `directoryName`, which contains the tenant and the time that `readyAt` contains |
 * | of a key with a limit, and due when it was written | directory | the same attributes; the name also contains the key and its limit |
 * | in a line, due or not, until its turn is over | directory | the same attributes; the name contains the key, its ticket and the time |
 * | in a line, and waits for children | as a task without a key | the write that wakes it does not know its ticket |
 *
 * The due tasks of a key stand together, so that a worker walks past them while their key is full. Its later tasks stand by time,
 * because a worker would otherwise have to walk past them until they are due. A worker that meets one of these due while its key is full
 * moves it to the others: `task.join`. A claim moves nothing, and neither does a task that is handed back.
 * The tasks of a line are always adjacent, because one that is not due blocks the others.
 */
import { NEVER } from '../../task/batch.ts';
import type { KeyLimit } from '../../task/key-limit.ts';
import type { LinePlace } from '../../task/line.ts';
import type { NewTask } from '../../task/task-store.ts';
import type { Priority, TaskKey, TaskLinks } from '../../task/task.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { readyPartitionKey, shardOf, groupPartitionKey } from '../../../dynamo/engine/keys.ts';
import { groupPlace, parseGroupPlace } from './index-places.ts';
import type { Values } from '../../../dynamo/engine/statement.ts';

/** The values that decide a task's index entry, other than time. */
export interface Standing extends TaskKey {
  readonly priority: Priority;
  readonly tenant?: string | undefined;
  /** The limit of its key, unless it stands in a line. */
  readonly limit: KeyLimit | undefined;
  readonly line: LinePlace | undefined;
}

/** When a task becomes due, when that is written, and the number of shards. */
export interface Timing {
  readonly readyAt: number;
  readonly now: number;
  readonly shards: number;
}

/** A part of a `SET` clause, its values, and the attributes of a `REMOVE` clause. */
export interface Move {
  readonly effect: string;
  readonly values: Values;
  readonly left: string;
}

interface Entry {
  readonly key: 'readyKey' | 'directoryKey';
  readonly partition: string;
  readonly name?: string;
}

/** The limit or the line by which a task stands. */
export function groupOf(links: TaskLinks | undefined): Pick<Standing, 'limit' | 'line'> {
  const line = links?.line;
  return { line, limit: line === undefined ? links?.concurrency : undefined };
}

/** As attributes of a new row. */
export function placeOf(
  task: NewTask,
  { now, shards }: Omit<Timing, 'readyAt'>,
  line: LinePlace | undefined,
): Readonly<Record<string, unknown>> {
  const limit = task.line === undefined ? task.links?.concurrency : undefined;
  const { key, partition, name } = entryOf({ ...task, limit, line }, { readyAt: task.runAt, now, shards });
  return {
    [key]: partition,
    readyAt: task.runAt,
    ...(name === undefined ? {} : { directoryName: name }),
  };
}

/** Moves a task to another index position, from whichever index it stands in, or from the list of dead tasks. */
export function moveTo(task: Standing, timing: Timing): Move {
  const { key, partition, name } = entryOf(task, timing);
  const at = `#${key} = :place, #readyAt = :readyAt`;
  const values = { ':place': partition, ':readyAt': timing.readyAt };
  if (name === undefined) return { effect: at, values, left: '#directoryKey, #directoryName' };
  return {
    effect: `${at}, #directoryName = :placeName`,
    values: { ...values, ':placeName': name },
    left: '#readyKey',
  };
}

/** Moves a task of a claim to another time. If it has a key or stands in a line, it may go to the other index. */
export function moveInTime(
  task: Omit<Standing, 'limit' | 'line'> & { readonly links?: TaskLinks | undefined },
  timing: Timing,
): Move {
  const group = groupOf(task.links);
  const isAlone = group.limit === undefined && group.line === undefined;
  return isAlone ? moveAlong(task, timing.readyAt) : moveTo({ ...task, ...group }, timing);
}

/** Moves a task that does not stand with others of its key to another time in the same partition. */
export function moveAlong({ id, tenant }: TaskKey & Pick<Standing, 'tenant'>, readyAt: number): Move {
  const at = { effect: '#readyAt = :readyAt', values: { ':readyAt': readyAt }, left: '' };
  if (tenant === undefined) return at;
  return {
    effect: `${at.effect}, #directoryName = :placeName`,
    values: { ...at.values, ':placeName': groupPlace({ tenant }, readyAt, id) },
    left: '',
  };
}

/** Adds to a `REMOVE` clause. */
export function andLeave({ left }: Move): string {
  return left === '' ? '' : `, ${left}`;
}

/** The position of a task among the other due tasks of its key, or among the tasks of its line. */
export function placeInGroup(task: Standing, { readyAt, shards }: Pick<Timing, 'readyAt' | 'shards'>): Entry {
  const { queue, id, priority, tenant, limit, line } = task;
  const key = line?.key ?? limit?.key ?? '';
  const wide = Math.min(limit?.limit ?? 1, shards);
  const shard = (shardOf(`${tenant ?? ''}${key}`, shards) + shardOf(id, wide)) % shards;
  return {
    key: 'directoryKey',
    partition: groupPartitionKey(queue, priority, shard),
    name: groupPlace({ tenant, limit, line }, readyAt, id),
  };
}

/** Whether a row stands with the other due tasks of its key. */
export function isInGroup({ directoryName }: DynamoItem): boolean {
  return typeof directoryName === 'string' && parseGroupPlace(directoryName).limit !== undefined;
}

function entryOf(task: Standing, timing: Timing): Entry {
  const { queue, id, priority, tenant, limit, line } = task;
  const { readyAt, now, shards } = timing;
  const isInGroup = line === undefined ? limit !== undefined && readyAt <= now : readyAt < NEVER;
  if (isInGroup) return placeInGroup(task, timing);
  const shard = shardOf(id, shards);
  if (tenant === undefined) return { key: 'readyKey', partition: readyPartitionKey(queue, priority, shard) };
  return {
    key: 'directoryKey',
    partition: groupPartitionKey(queue, priority, shard),
    name: groupPlace({ tenant }, readyAt, id),
  };
}
