/**
 * The task row, continued: changes to a task that do not come from its holder.
 * `task-statements.ts` describes the row.
 *
 * Guards name the state that the operator saw, so a decision based on an old state changes nothing.
 */
import { createdByOf } from '../../task/created-by.ts';
import type { Cancellation, EndedTask, Priority, ReadyTask, RunningTask } from '../../task/task.ts';
import type { Stamp } from '../../../core/lease/write.ts';
import type { NewTask } from '../../task/task-store.ts';
import { WORKER_DIED, revocationOf } from '../../task/task.ts';
import { deadPartitionKey } from '../../../dynamo/engine/keys.ts';
import type { Statement, UpdateParts } from '../../../dynamo/engine/statement.ts';
import { directoryStatement } from '../../../dynamo/engine/statement.ts';
import { actionOf, together } from '../../../dynamo/engine/transaction.ts';
import { revokeFromSession } from '../../../session/row/session-statements.ts';
import { COUNT_WORK, asked, dropped, workOf } from './asked.ts';
import { andForget } from './attributes.ts';
import { pastAttempt, remember } from './history.ts';
import { andLeave, groupOf, moveTo } from './place.ts';
import type { Seat } from './task-statements.ts';
import type { EndStamp } from './ended-entries.ts';
import { leaveFor } from './ended-entries.ts';
import { FINISH, HAS_NO_FOLLOWER, IS_OBSERVED, updateTask, IS_DUE } from './task-statements.ts';

const IS_WAITING = '#state = :ready AND #nonce = :observedNonce';
const IS_ENDED = '#state = :observedState AND #nonce = :observedNonce';

/**
 * Guard: it waits, and was not written since it was observed, so that a late attempt cannot cancel other work under the id.
 * Effect: cancelled. With `shards`: its turn in its line has not come, and its place stays, because a ticket without a task would stop
 *   the line.
 * Outcomes: refused = the task is running, has ended or was changed: read it again.
 */
export function cancelWaitingTask(
  table: string,
  observed: ReadyTask,
  cancellation: Cancellation,
  stamp: EndStamp,
  shards?: number,
): Statement<'update'> {
  const end = endOf(observed, cancellation, stamp, shards);
  return updateTask('task.cancel', table, observed, stamp, { guard: IS_WAITING, ...end });
}

/**
 * Guard: it waits, not written since it was observed, and its time to be started has passed.
 * Effect: cancelled, because it has expired. `shards`: as above.
 * Outcomes: refused = claimed in the last moment, or ended.
 */
export function expireTask(
  table: string,
  observed: ReadyTask,
  reason: string,
  stamp: EndStamp,
  shards?: number,
): Statement<'update'> {
  const end = endOf(observed, { at: stamp.now, reason }, stamp, shards);
  return updateTask('task.expire', table, observed, stamp, {
    guard: `${IS_WAITING} AND #expiresAt <= :now`,
    ...end,
  });
}

/**
 * Guard: still running under the observed session and counter; the caller has seen that the session has ended, which is final.
 * Effect: cancelled.
 * Outcomes: refused = taken over, or finished by its holder in the last moment; or it has a follower, see `follower-statements.ts`.
 */
export function cancelAbandonedTask(
  table: string,
  observed: RunningTask,
  cancellation: Cancellation,
  stamp: EndStamp,
): Statement<'update'> {
  const end = cancelled(cancellation, stamp);
  return updateTask('task.cancel', table, observed, stamp, {
    guard: `${IS_OBSERVED} AND ${HAS_NO_FOLLOWER}`,
    ...end,
  });
}

/**
 * Guard: running under the observed session and counter, and that session is live.
 * Effect: the request is in the task's row, where the next claimer finds it, and in its session's row, which the next heartbeat reads.
 *   Otherwise every heartbeat would have to read the rows of all running tasks, to notice a rare event.
 *   The nonce stays, so that the holder still recognizes its own writes by it: a repeated request changes nothing.
 * Outcomes: refused = it changed hands or ended; cancelled = its session has just ended: read it again.
 */
export function requestCancel(
  table: string,
  observed: RunningTask,
  cancellation: Cancellation,
  stamp: Stamp,
): Statement<'transactWrite'> {
  const ask = updateTask('task.requestCancel', table, observed, stamp, {
    guard: IS_OBSERVED,
    effect: 'SET #cancellation = :cancellation',
    values: { ':cancellation': { ...cancellation } },
  });
  const tell = revokeFromSession(table, observed.session, [revocationOf(observed)]);
  return together(ask, [actionOf(tell)], stamp.nonce);
}

/**
 * Guard: not written since it was observed; the caller has seen that it waits.
 * Effect: another priority or time; its position in a line stays.
 * Outcomes: refused = claimed, or changed since.
 */
export function rescheduleTask(
  table: string,
  observed: ReadyTask,
  { priority, runAt }: { readonly priority: Priority; readonly runAt: number },
  shards: number,
  stamp: Stamp,
): Statement<'update'> {
  const group = groupOf(observed.links);
  // Its children wake it wherever it stands, but not in its line.
  const line = observed.children === undefined ? group.line : undefined;
  const place = moveTo({ ...observed, ...group, line, priority }, { readyAt: runAt, now: stamp.now, shards });
  return updateTask('task.reschedule', table, observed, stamp, {
    guard: IS_WAITING,
    effect: `SET #priority = :priority, ${place.effect}, #nonce = :nonce REMOVE ${place.left}`,
    values: { ...place.values, ':priority': priority },
  });
}

/**
 * Guard: not written since it was observed; the caller has seen that it has ended.
 * Effect: ready again, as a new generation with all its attempts; the counter continues. Its past and last error stay,
 *   and the attempt that ended it is added to its past. It keeps its children, unless TTL has deleted their batch. If the transaction
 *   also has `isPending`, it waits for them again. Its batch has already counted its end, and does not count it again.
 *   In a line it starts over, at the end, unless its turn has not been passed: then it keeps its place.
 * Outcomes: refused = already revived, or deleted by TTL.
 */
export function reviveTask(
  table: string,
  observed: EndedTask,
  { runAt, keepsChildren }: { readonly runAt: number; readonly keepsChildren: boolean },
  shards: number,
  stamp: Stamp,
  seat?: Seat,
): Statement<'update'> {
  const group = groupOf(observed.links);
  const line = seat ?? group.line;
  const place = moveTo({ ...observed, ...group, line }, { readyAt: runAt, now: stamp.now, shards });
  const last = lastAttempt(observed);
  return updateTask('task.revive', table, observed, stamp, {
    guard: IS_ENDED,
    effect:
      'SET #state = :ready, #attempts = :zero, #generation = if_not_exists(#generation, :zero) + :one, ' +
      `${place.effect}, #nonce = :nonce${last === undefined ? '' : `, ${remember(observed)}`}${seat === undefined ? '' : SIT} ` +
      `REMOVE #session, #claimedAt, #finishedAt, #result, #cancellation, #expiresAt, #ttl, #batch, #deaths, #failingSince, #handBacks${keepsChildren ? '' : ', #children'}${andLeave(place)}`,
    values: { ':past': last, ...place.values, ':line': seat?.key, ':ticket': seat?.ticket },
  });
}

/** The attempt that ended the task; undefined if it was cancelled while it waited. */
function lastAttempt(observed: EndedTask): Readonly<Record<string, unknown>> | undefined {
  const { state, session, leaseCounter, claimedAt, finishedAt, lastError } = observed;
  if (session === undefined) return undefined;
  const isDead = state === 'dead';
  const how = !isDead ? 'cancelled' : lastError?.name === WORKER_DIED ? 'died' : 'failed';
  return pastAttempt({ session, leaseCounter, claimedAt }, how, finishedAt, isDead ? lastError : undefined);
}

/**
 * Guard: it waits, and was not written since it was observed.
 * Effect: other work under the same id. The data of the former work is removed. Its position in a line stays.
 *   If an attempt has begun the former work, it may have named other tasks by its run: the new one has another.
 * Outcomes: refused = claimed, ended, or replaced since.
 */
export function replaceTask(
  table: string,
  observed: ReadyTask,
  task: NewTask,
  shards: number,
  stamp: Stamp,
): Statement<'update'> {
  const work = workOf(task);
  const group = groupOf({ ...observed.links, concurrency: task.links?.concurrency });
  const given = asked(work, { ...observed, ...group }, shards, stamp);
  const hasBegun = observed.attempts > 0 || observed.past.length > 0 || observed.journal !== undefined;
  return updateTask('task.replace', table, observed, stamp, {
    guard: IS_WAITING,
    effect: `SET ${given.effect}${hasBegun ? `, ${COUNT_WORK}` : ''} ${dropped(work)}, #progress, #children, #deaths, #failingSince, #handBacks${andForget(observed.journal)}${andLeave(given)}`,
    values: given.values,
  });
}

/**
 * Guard: not written since it was observed; the caller has seen that it has ended.
 * Effect: new work under the same id, with all its attempts; of the former work only the counter remains, and continues.
 * Outcomes: refused = renewed since, or deleted by TTL.
 */
export function renewTask(
  table: string,
  observed: EndedTask,
  task: NewTask,
  shards: number,
  stamp: Stamp,
  seat?: Seat,
): Statement<'update'> {
  const begin =
    '#state = :ready, #createdAt = :now, #createdBy = :createdBy, #attempts = :zero, ' +
    `#generation = if_not_exists(#generation, :zero) + :one, ${COUNT_WORK}`;
  const work = workOf(task);
  const group = groupOf({ ...task.links, line: seat });
  const given = asked(work, { ...task, ...group }, shards, stamp);
  return updateTask('task.renew', table, observed, stamp, {
    guard: IS_ENDED,
    effect:
      `SET ${given.effect}, ${begin}${seat === undefined ? '' : SIT} ` +
      `${dropped(work)}${FORGET}${andForget(observed.journal)}${andLeave(given)}${seat === undefined ? ', #line, #ticket' : ''}`,
    values: {
      ...given.values,
      ':createdBy': createdByOf(stamp.nonce),
      ':line': seat?.key,
      ':ticket': seat?.ticket,
    },
  });
}

/** Dead tasks of one part of a queue's list, the longest dead first. Eventually consistent. */
export const pageOfDead = (table: string, queue: string, shard: number, after: unknown): Statement<'query'> =>
  directoryStatement('task.pageOfDead', table, deadPartitionKey(queue, shard), '', { after });

/** Sets the task's position in a line. */
const SIT = ', #line = :line, #ticket = :ticket';
/** Follows `dropped`. */
const FORGET =
  ', #session, #claimedAt, #finishedAt, #result, #spawned, #progress, #lastError, #ttl, ' +
  '#batch, #children, #deaths, #failingSince, #handBacks, #past0, #past1, #past2, #past3';

/** The end of a waiting task. @param shards its turn in its line has not come: its place stays, as of a task that is due */
function endOf(
  observed: ReadyTask,
  cancellation: Cancellation,
  stamp: EndStamp,
  shards: number | undefined,
): Pick<UpdateParts, 'effect' | 'values'> {
  if (shards === undefined) return cancelled(cancellation, stamp);
  const { now } = stamp;
  const readyAt = Math.min(observed.readyAt, now);
  const place = moveTo({ ...observed, ...groupOf(observed.links) }, { readyAt, now, shards });
  return {
    effect: `SET #state = :finished, #finishedAt = :now, #nonce = :nonce, #cancellation = :cancellation, ${place.effect} REMOVE ${place.left}`,
    values: { ...place.values, ':finished': 'cancelled', ':cancellation': { ...cancellation } },
  };
}

function cancelled(cancellation: Cancellation, stamp: EndStamp): Pick<UpdateParts, 'effect' | 'values'> {
  const { set, remove, values } = leaveFor(stamp);
  return {
    effect: `${FINISH}, #cancellation = :cancellation${set} ${remove}`,
    values: { ':finished': 'cancelled', ':cancellation': { ...cancellation }, ...values },
  };
}

/**
 * Guard: ready, due, and not written since it was observed.
 * Effect: stands with the other due tasks of its key, because the key is full.
 * Outcomes: refused = claimed, changed, or moved by another worker.
 */
export function joinGroup(table: string, observed: ReadyTask, shards: number, stamp: Stamp): Statement<'update'> {
  const { readyAt } = observed;
  const place = moveTo({ ...observed, ...groupOf(observed.links) }, { readyAt, now: readyAt, shards });
  return updateTask('task.join', table, observed, stamp, {
    guard: `${IS_DUE} AND #nonce = :observedNonce`,
    effect: `SET ${place.effect}, #nonce = :nonce REMOVE ${place.left}`,
    omitsNewRow: true,
    values: place.values,
  });
}
