/**
 * The queue row: what operators have set, and what dispatchers have seen.
 * It is there only for queues that either has touched, and is never swept.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `queue#<name>`, `queue` | change, noteUse |
 * | v | N | schema version | change, noteUse |
 * | queue | S | its name | change, noteUse |
 * | paused | BOOL | nothing is claimed while true | change; noteUse if absent |
 * | reason | S | why, for people | change; noteUse if absent |
 * | updatedAt | N, epoch ms | when it was paused or opened | change; noteUse if absent |
 * | lanes | SS | lanes that tasks have been seen in; only grows | noteUse |
 * | shards | N | shards that a dispatcher has had, or has seen tasks in; only grows | noteUse |
 * | took | N, ms | mean time that a task held a slot lately, each counted up to `startWithinMs`: a hint | noteHints |
 * | concurrency, startWithin | N, and N, ms | settings of the worker that wrote the hints: for people | noteHints |
 * | unknown | L of S | names of waiting tasks that no worker has defined lately: a hint | noteHints |
 * | names | L of S | names of tasks that workers have announced, at most 100 and 2 KB: for people | noteHints |
 * | nonce | S | of the last write other than hints: these must not refuse what operators and dispatchers write | change, noteUse |
 * | directoryKey, directoryName | S | `queue` and its name: the listing | change |
 */
import type { PlanningHints, QueueRecord, QueueUse } from '../task/queue-store.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import { queueKey } from '../../dynamo/engine/keys.ts';
import { SCHEMA_VERSION } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { getStatement, updateStatement } from '../../dynamo/engine/statement.ts';

/**
 * Guard: not written since it was observed, or still absent: a late attempt of an earlier change must not undo a later one.
 * Effect: paused, or open again.
 * Outcomes: refused = it was changed meanwhile: look again.
 */
export function changeQueue(
  table: string,
  queue: string,
  observed: QueueRecord | undefined,
  { isPaused, reason }: { readonly isPaused: boolean; readonly reason: string },
  { now, nonce }: Stamp,
): Statement<'update'> {
  return updateStatement('queue.change', {
    table,
    key: queueKey(queue),
    guard: observed === undefined ? IS_ABSENT : IS_AS_OBSERVED,
    effect:
      'SET #v = :v, #queue = :queue, #paused = :paused, #reason = :reason, #updatedAt = :now, #nonce = :nonce, ' +
      '#directoryKey = :directory, #directoryName = :queue',
    values: {
      ':v': SCHEMA_VERSION,
      ':queue': queue,
      ':paused': isPaused,
      ':reason': reason,
      ':now': now,
      ':nonce': nonce,
      ':directory': 'queue',
      ...(observed === undefined ? {} : { ':observedNonce': observed.nonce }),
    },
  });
}

/**
 * Guard: as above, so that the number of shards only grows; what is refused is found again with the next tick.
 * Effect: the lanes are in use, and so many shards; a queue that had no row is open.
 * Outcomes: refused = it was written meanwhile, perhaps with the same.
 */
export function noteUse(
  table: string,
  queue: string,
  observed: QueueRecord | undefined,
  { lanes, shards }: QueueUse,
  { now, nonce }: Stamp,
): Statement<'update'> {
  return updateStatement('queue.noteUse', {
    table,
    key: queueKey(queue),
    guard: observed === undefined ? IS_ABSENT : IS_AS_OBSERVED,
    // A set is never empty.
    effect: lanes.size === 0 ? SET_USE : `${SET_USE} ADD #lanes :lanes`,
    values: {
      ':v': SCHEMA_VERSION,
      ':queue': queue,
      ':open': false,
      ':none': '',
      ':now': now,
      ':nonce': nonce,
      ':shards': shards,
      ...(lanes.size === 0 ? {} : { ':lanes': new Set(lanes) }),
      ...(observed === undefined ? {} : { ':observedNonce': observed.nonce }),
    },
  });
}

/**
 * Guard: the row is there.
 * Effect: plans use the hints. Nothing else changes, not even the nonce.
 * Outcomes: refused = no dispatcher has seen the queue yet.
 */
export function noteHints(table: string, queue: string, hints: PlanningHints): Statement<'update'> {
  const { tookMs, unknownNames, announcedNames, workerSettings } = hints;
  return updateStatement('queue.noteHints', {
    table,
    key: queueKey(queue),
    guard: 'attribute_exists(#pk)',
    effect: tookMs === undefined ? SET_HINTS : `${SET_HINTS}, #took = :took`,
    values: {
      ':unknown': [...unknownNames],
      ':names': [...announcedNames],
      ':concurrency': workerSettings.concurrency,
      ':startWithin': workerSettings.startWithinMs,
      ...(tookMs === undefined ? {} : { ':took': tookMs }),
    },
  });
}

const SET_HINTS = 'SET #unknown = :unknown, #names = :names, #concurrency = :concurrency, #startWithin = :startWithin';
const SET_USE =
  'SET #v = :v, #queue = :queue, #paused = if_not_exists(#paused, :open), #reason = if_not_exists(#reason, :none), ' +
  '#updatedAt = if_not_exists(#updatedAt, :now), #nonce = :nonce, #shards = :shards';
const IS_ABSENT = 'attribute_not_exists(#pk)';
const IS_AS_OBSERVED = '#nonce = :observedNonce';

export const readQueue = (table: string, queue: string): Statement<'get'> =>
  getStatement('queue.get', table, queueKey(queue));

export function glanceAtQueue(table: string, queue: string): Statement<'get'> {
  const { input } = readQueue(table, queue);
  return { verb: 'queue.glance', kind: 'get', input: { ...input, ConsistentRead: false } };
}
