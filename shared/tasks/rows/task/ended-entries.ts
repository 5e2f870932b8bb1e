/**
 * The task row, continued: the entry of an ended task in the directory, if its queue lists finished tasks.
 *
 * | state | `directoryKey` | `directoryName` |
 * | --- | --- | --- |
 * | done, cancelled | `ended#<queue>#<shard>`, as many shards as the queue has | the text below |
 * | dead | `dead#<queue>#<shard>`, with the list or without | the text below; without the list, moment and id |
 *
 * The text: the moment of the end (ISO 8601), state, name, how long it waited and ran (ms), attempts, key, and label; escaped, and joined
 * by `#`, so that no part can pass for another. Name and key are cut. An entry lives as long as its row.
 */
import { utf8Bytes } from '../../../core/runtime/bytes.ts';
import type { Stamp } from '../../../core/lease/write.ts';
import { deadPartitionKey, endedPartitionKey, joinKey, shardOf, splitKey } from '../../../dynamo/engine/keys.ts';
import { DEAD_SHARDS } from '../../../dynamo/engine/schema.ts';
import type { Values } from '../../../dynamo/engine/statement.ts';
import type { ChildEnding } from '../../task/batch.ts';
import type { EndedFacts } from '../../task/ended-list.ts';
import type { EndFacts, TaskKey, TaskLinks } from '../../task/task.ts';

/** With it, the longest text is below the limit of a sort key: each byte may be escaped to three. */
const CUT_BYTES = 100;

/** The place of an ended task in the list. */
export interface EndedPlace {
  readonly partition: string;
  readonly name: string;
}

export function endedPlace(
  task: TaskKey & EndFacts & { readonly links?: TaskLinks | undefined },
  state: ChildEnding,
  { now, shards }: { readonly now: number; readonly shards: number },
): EndedPlace {
  const { queue, id, links, name = '', readyAt, claimedAt, attempts = 0, label = '' } = task;
  const partition = state === 'dead' ? deadPartition(queue, id) : endedPartitionKey(queue, shardOf(id, shards));
  const key = links?.concurrency?.key ?? links?.line?.key ?? '';
  const waitedMs = readyAt === undefined ? '' : span(readyAt, claimedAt ?? now);
  const ranMs = claimedAt === undefined ? '' : span(claimedAt, now);
  const parts = [state, cut(name), waitedMs, ranMs, String(attempts), cut(key)];
  return { partition, name: joinKey([new Date(now).toISOString(), ...parts, label]) };
}

/** The place of a dead task, whose queue may list no others. */
export function deadPlace({ queue, id }: TaskKey, { now, place }: EndStamp): EndedPlace {
  return place ?? { partition: deadPartition(queue, id), name: joinKey([new Date(now).toISOString(), id]) };
}

/** Stamp of a write that ends a task. */
export type EndStamp = Stamp & {
  /** The task's entry, if its queue lists finished tasks. */
  readonly place?: EndedPlace | undefined;
};

/** Parts of the update that ends a task, in place of those that only remove its entry. */
export function leaveFor({ place }: Pick<EndStamp, 'place'>): {
  readonly set: string;
  readonly remove: string;
  readonly values: Values;
} {
  if (place === undefined) return { set: '', remove: LEAVE_INDEX, values: {} };
  return {
    set: ', #directoryKey = :endedKey, #directoryName = :endedName',
    remove: LEAVE_READY,
    values: { ':endedKey': place.partition, ':endedName': place.name },
  };
}

export const LEAVE_INDEX = 'REMOVE #readyKey, #readyAt, #directoryKey, #directoryName';
export const LEAVE_READY = 'REMOVE #readyKey, #readyAt';

/** Whether a row of an ended task stands in the list, and no longer in its line. */
export function isListed({ directoryKey }: { readonly directoryKey?: unknown }): boolean {
  return String(directoryKey).startsWith(ENDED);
}

const ENDED = 'ended#';

/** The facts of an entry; undefined if it is damaged. An entry of a queue without the list has only the time of the task's death. */
export function endedFactsIn(name: string): EndedFacts | undefined {
  const [moment = '', state = '', ...rest] = splitKey(name);
  const at = Date.parse(moment);
  if (!Number.isFinite(at) || moment.length !== ISO_LENGTH) return undefined;
  if (rest.length === 0) return { at, state: 'dead' };
  const [task, waited = '', ran = '', attempts = '', key, label] = rest;
  const known = (['done', 'dead', 'cancelled'] as const).find((one) => one === state);
  const numbers = [waited, ran, attempts].every((text) => /^\d{0,15}$/.test(text));
  if (known === undefined || !numbers || task === undefined || label === undefined || rest.length > 6) return undefined;
  return {
    at,
    state: known,
    name: task,
    ...(waited === '' ? {} : { waitedMs: Number(waited) }),
    ...(ran === '' ? {} : { ranMs: Number(ran) }),
    attempts: Number(attempts),
    ...(key === '' ? {} : { key }),
    ...(label === '' ? {} : { label }),
  };
}

/** `2026-11-24T20:21:05.000Z`. */
const ISO_LENGTH = 24;

function deadPartition(queue: string, id: string): string {
  return deadPartitionKey(queue, shardOf(id, DEAD_SHARDS));
}

function cut(text: string): string {
  let kept = text;
  while (utf8Bytes(kept) > CUT_BYTES) kept = kept.slice(0, -1);
  return kept.isWellFormed() ? kept : kept.slice(0, -1);
}

function span(from: number, to: number): string {
  return String(Math.max(0, Math.round(to - from)));
}
