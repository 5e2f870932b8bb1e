/**
 * The queue row: operators' settings, and the lanes and shards that dispatchers have seen.
 * It exists if an operator, a dispatcher or a worker outside Lambda has written it. TTL never deletes it.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `queue#<name>`, `queue` | change, noteUse, announceNames |
 * | v | N | schema version | change, noteUse, announceNames |
 * | queue | S | its name | change, noteUse, announceNames |
 * | paused | BOOL | workers do not claim while true | change; noteUse and announceNames if absent |
 * | pausedTenants | SS | tenants whose tasks workers do not claim; absent if none | change |
 * | reason | S | why: display only | change; noteUse and announceNames if absent |
 * | updatedAt | N, epoch ms | when it was paused or resumed | change; noteUse and announceNames if absent |
 * | lanes | SS | lanes that tasks have been seen in; only grows | noteUse |
 * | shards | N | shards that a dispatcher has had, or has seen tasks in; only grows | noteUse |
 * | listedSince | N, epoch ms | since when tasks that end get an entry in the list of finished ones; absent: none does | listFinished |
 * | took | N, ms | recent mean time of a task in a slot, each counted up to `startWithinMs`: a hint | noteHints |
 * | concurrency, startWithin | N, and N, ms | settings of the worker that wrote the hints: for operators | noteHints |
 * | unknown | L of S | names of waiting tasks that no worker has defined lately: a hint | noteHints |
 * | names | L of S | announced names of tasks, at most 100 and 2 KB; with an empty one: there are more | noteHints, announceNames |
 * | starts | M | `count`, `token`, `untilMs`, `waitMs`, `heard`, `nonce`: workers that a waker has started and that had no permit yet, and
 * tasks announced to wakers recently | noteStarts |
 * | nonce | S | of the last write other than hints and starts: these must not refuse what operators and dispatchers write | change, noteUse; announceNames if absent |
 * | directoryKey, directoryName | S | `queue` and its name: the listing | change |
 */
import type { PlanningHints, QueueRecord, QueueSettings, QueueUse, StartsNote } from '../task/queue-store.ts';
import type { Stamp } from '../../core/lease/write.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { queueKey } from '../../dynamo/engine/keys.ts';
import type { Statement, UpdateParts } from '../../dynamo/engine/statement.ts';
import { getStatement, updateStatement } from '../../dynamo/engine/statement.ts';
import type { Verb } from '../../dynamo/engine/verb.ts';

/**
 * Guard: not written since it was observed, or still absent, so that a late copy of an earlier change cannot undo a later one.
 * Effect: paused, or open again, as a whole or for some tenants.
 * Outcomes: refused = changed since it was observed: read it again.
 */
export function changeQueue(
  table: string,
  queue: string,
  observed: QueueRecord | undefined,
  { isPaused, reason, pausedTenants }: QueueSettings,
  stamp: Stamp,
): Statement<'update'> {
  return updateQueue('queue.change', table, queue, observed, {
    effect: SET_CHANGE + effectOn(pausedTenants),
    stamp,
    values: { ':paused': isPaused, ':reason': reason, ':directory': 'queue', ':tenants': new Set(pausedTenants) },
  });
}

/**
 * Guard: as above, so that the number of shards only grows. After a refusal, the next tick tries again.
 * Effect: the lanes and the number of shards are in use; a new queue row is open.
 * Outcomes: refused = written since it was observed, perhaps with the same values.
 */
export function noteUse(
  table: string,
  queue: string,
  observed: QueueRecord | undefined,
  { lanes, shards }: QueueUse,
  stamp: Stamp,
): Statement<'update'> {
  return updateQueue('queue.noteUse', table, queue, observed, {
    // DynamoDB does not store empty sets.
    effect: lanes.size === 0 ? SET_USE : `${SET_USE} ADD #lanes :lanes`,
    stamp,
    values: { ':shards': shards, ':lanes': new Set(lanes) },
  });
}

/**
 * Guard: as above, so that a late copy cannot switch on what was switched off since.
 * Effect: whoever ends a task of the queue adds it to the list of finished tasks, or no longer does. A new queue row is open.
 * Outcomes: refused = written since it was observed.
 */
export function listFinished(
  table: string,
  queue: string,
  observed: QueueRecord | undefined,
  isOn: boolean,
  stamp: Stamp,
): Statement<'update'> {
  const effect = `${SET_OPEN}, #nonce = :nonce${isOn ? ', #listedSince = :now' : ' REMOVE #listedSince'}`;
  return updateQueue('queue.listFinished', table, queue, observed, { effect, stamp });
}

/**
 * Guard: the row exists.
 * Effect: plans use the hints. Nothing else changes, not even the nonce.
 * Outcomes: refused = no dispatcher has seen the queue yet.
 */
export function noteHints(table: string, queue: string, hints: PlanningHints): Statement<'update'> {
  const { tookMs, unknownNames, announcedNames, workerSettings } = hints;
  return updateQueue('queue.noteHints', table, queue, undefined, {
    guard: 'attribute_exists(#pk)',
    effect: tookMs === undefined ? SET_HINTS : `${SET_HINTS}, #took = :took`,
    values: {
      ':unknown': [...unknownNames],
      ':names': [...announcedNames],
      ':concurrency': workerSettings.concurrency,
      ':startWithin': workerSettings.startWithinMs,
      ':took': tookMs,
    },
  });
}

/**
 * Guard: no other names were announced since the row was observed.
 * Effect: commands know the names. A queue without a row gets one, and is open; otherwise nothing else changes, not even the nonce.
 * Outcomes: refused = another worker announced its names, or an earlier attempt was applied. The names are display only, so do not retry.
 */
export function announceNames(
  table: string,
  queue: string,
  observed: QueueRecord | undefined,
  names: readonly string[],
  stamp: Stamp,
): Statement<'update'> {
  const before = observed?.announcedNames;
  return updateQueue('queue.announceNames', table, queue, observed, {
    guard: before === undefined ? 'attribute_not_exists(#names)' : '#names = :observedNames',
    effect: `${SET_OPEN}, #nonce = if_not_exists(#nonce, :nonce), #names = :names`,
    stamp,
    values: { ':names': [...names], ':observedNames': before && [...before] },
  });
}

/**
 * Guard: the row exists, and no other note of starts was written since it was observed.
 * Effect: other wakers count these starts. Nothing else changes, not even the nonce.
 * Outcomes: refused = another waker has started workers in between, or no dispatcher has seen the queue yet.
 */
export function noteStarts(
  table: string,
  queue: string,
  observed: StartsNote | undefined,
  { count, token, untilMs, waitMs, heard }: Omit<StartsNote, 'nonce'>,
  { nonce }: Pick<Stamp, 'nonce'>,
): Statement<'update'> {
  return updateQueue('queue.noteStarts', table, queue, undefined, {
    guard: observed === undefined ? 'attribute_exists(#pk) AND attribute_not_exists(#starts)' : '#starts = :observed',
    effect: 'SET #starts = :starts',
    values: {
      ':starts': storedStarts({ count, token, untilMs, waitMs, heard, nonce }),
      ':observed': observed && storedStarts(observed),
    },
  });
}

function storedStarts({ heard, ...note }: StartsNote): Readonly<Record<string, unknown>> {
  return { ...note, heard: heard.map(({ at, count, ids }) => ({ at, count, ids: [...ids] })) };
}

/** Guard, if no other is given: not written since it was observed, or still absent. */
function updateQueue(
  verb: Verb,
  table: string,
  queue: string,
  observed: QueueRecord | undefined,
  { guard = observed === undefined ? IS_ABSENT : IS_AS_OBSERVED, ...parts }: Partial<UpdateParts> & { effect: string },
): Statement<'update'> {
  const values = { ':queue': queue, ':open': false, ':none': '', ':observedNonce': observed?.nonce, ...parts.values };
  return updateStatement(verb, { ...parts, guard, table, key: queueKey(queue), values });
}

/** DynamoDB does not store empty sets. */
function effectOn(pausedTenants: ReadonlySet<string> | undefined): string {
  if (pausedTenants === undefined) return '';
  return pausedTenants.size === 0 ? ' REMOVE #pausedTenants' : ', #pausedTenants = :tenants';
}

const SET_CHANGE =
  'SET #v = :v, #queue = :queue, #paused = :paused, #reason = :reason, #updatedAt = :now, #nonce = :nonce, ' +
  '#directoryKey = :directory, #directoryName = :queue';
const SET_HINTS = 'SET #unknown = :unknown, #names = :names, #concurrency = :concurrency, #startWithin = :startWithin';
/** A queue that had no row is open. */
const SET_OPEN =
  'SET #v = :v, #queue = :queue, #paused = if_not_exists(#paused, :open), #reason = if_not_exists(#reason, :none), ' +
  '#updatedAt = if_not_exists(#updatedAt, :now)';
const SET_USE = `${SET_OPEN}, #nonce = :nonce, #shards = :shards`;
const IS_ABSENT = 'attribute_not_exists(#pk)';
const IS_AS_OBSERVED = '#nonce = :observedNonce';

/** What a row says about the list, for those who need nothing else of it. */
export function listingIn({ listedSince }: DynamoItem): Pick<QueueRecord, 'listedSince'> {
  return typeof listedSince === 'number' ? { listedSince } : {};
}

export const readQueue = (table: string, queue: string): Statement<'get'> =>
  getStatement('queue.get', table, queueKey(queue));

export function glanceAtQueue(table: string, queue: string): Statement<'get'> {
  const { input } = readQueue(table, queue);
  return { verb: 'queue.glance', kind: 'get', input: { ...input, ConsistentRead: false } };
}
