/**
 * The task row.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `task#<queue>#<id>`, `task` | enqueue |
 * | v | N | schema version | enqueue |
 * | queue, name, priority | S | identity, with the id in the key; its definition; the index partition that it waits in | enqueue |
 * | input | S or B, JSON | text, or deflated, see `../../../dynamo/engine/stored-json.ts` | enqueue |
 * | payload | M: bytes, digest; reference, or nonce; isApart | an input stored elsewhere: in the user's store, or in the row of `../payload-statements.ts` | enqueue, replace, renew, promote |
 * | state | S | `ready`, `running`, `done`, `dead`, `cancelled` | all |
 * | createdAt | N, epoch ms | | enqueue, renew, promote |
 * | createdBy | S | beginning of the nonce of the write that began its work; absent: its id was generated, see `../../task/created-by.ts` | enqueue, renew, promote |
 * | attempts | N | claims, less those handed back | claim, take over, release, snooze |
 * | deaths | N | attempts whose holders crashed; absent: none | take over, markDead; removed by replace, revive, renew, promote |
 * | failingSince | N, epoch ms | first failure since its last good end; absent: none | retry; removed by snooze, wait, replace, revive, renew, promote |
 * | handBacks | N | times in a row that it was handed back at its worker's deadline without new progress; absent: none | release; removed by retry, snooze, wait, replace, revive, renew, promote |
 * | leaseCounter | N | the fencing token; starts at the clock, grows by one with each claim, never restarts | enqueue, claim, take over |
 * | session, claimedAt | S; N, epoch ms | its holder, and the time of the claim; once finished, its last holder | claim, take over; removed when it is ready again |
 * | past0 … past3 | M: counter, session, claimedAt, endedAt, how, error | attempts that are over, in a ring over the lease counter | retry, release, snooze, take over |
 * | progress | S or B, JSON | left for the next attempt | progress |
 * | sequence | N | number of the claim's last saved progress, or of its last refused commit; 0 with each claim | claim, take over, progress, bar |
 * | result; spawned | S or B, JSON; M: count, first | what a commit spawned: the first ten, and how many | complete, commit; commit |
 * | lastError | M: name, message, at | | retry, discard, markDead |
 * | finishedAt | N, epoch ms | | complete, commit, discard, markDead, cancel |
 * | cancellation | M: at, reason | a request to end without a result, or such an end | see `operator-statements.ts` |
 * | expiresAt | N, epoch ms | dropped unless it is started before; removed by the first claim | enqueue, claim |
 * | batch | S | the batch that counts its end | enqueue |
 * | key | M: key, limit, count, perMs | its concurrency key: it takes a slot of the key while it runs | enqueue |
 * | line, ticket | S; N | the key of its line, and its position there, see `lines.ts` | enqueue, revive, renew |
 * | schedule | M: name, at, since | its occurrence, and the previous run with a task; absent: none | enqueue |
 * | children | S | the batch of the children that it waits for | enqueue, wait; removed by replace, renew |
 * | generation | N | times that it was revived after its end, or continued with its follower; absent: none | promote; see `operator-statements.ts` |
 * | work | N | number of its work, see `runId` in `../../task/task.ts`; absent: the first | renew, promote; replace after an attempt |
 * | nonce | S | of the last write | all, except requests to cancel a running task |
 * | readyKey, readyAt | S; N, epoch ms | the ready index; present while ready or running, removed when finished | enqueue, retry, snooze |
 * | tenant | S | its tenant; the task is in the index of groups instead of the ready index, see `place.ts` | enqueue |
 * | directoryKey, directoryName | S | once ended, the list of dead or of finished tasks, see `ended-entries.ts`; until then the index of groups | enqueue, join, retry, snooze; each end |
 * | ttl | N, epoch s | of finished tasks; absent from waiting and running ones | complete, commit, discard, markDead, cancel |
 *
 * See also: `attributes.ts` (options that it keeps), operator-, follower-, commit-, bar- and `journal-statements.ts`.
 */
import { defined } from '../../../core/defined.ts';
import { createdByOf } from '../../task/created-by.ts';
import type { LinePlace } from '../../task/line.ts';
import type { ChildEnding } from '../../task/batch.ts';
import type { Claim, ReadyTask, RunningTask, TaskError, TaskKey } from '../../task/task.ts';
import type { Stamp } from '../../../core/lease/write.ts';
import type { NewTask, SequencedStamp } from '../../task/task-store.ts';
import { taskKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement, Values, UpdateParts } from '../../../dynamo/engine/statement.ts';
import { batchGetStatement, createStatement, getStatement, updateStatement } from '../../../dynamo/engine/statement.ts';
import type { StoredText } from '../../../dynamo/engine/stored-json.ts';
import { storedJson } from '../../../dynamo/engine/stored-json.ts';
import { optionAttributes, occurrenceAttribute } from './attributes.ts';
import { HAS_NO_TASK } from './bar-statements.ts';
import type { EndStamp } from './ended-entries.ts';
import { LEAVE_READY, deadPlace, leaveFor } from './ended-entries.ts';
import { pastAttempt, remember } from './history.ts';
import { andLeave, moveInTime, placeOf } from './place.ts';
import type { Verb } from '../../../dynamo/engine/verb.ts';

/** A task's position in the line of its key, and whether no task of the line comes before it. */
export type Seat = LinePlace & { readonly isFirst: boolean };

/** Guard of every operation of a holder. Operations that end its attempt also have `HAS_NO_FOLLOWER`. */
export const IS_MINE = '#state = :running AND #leaseCounter = :counter AND #session = :session';
/** Guard of every operation that ends an attempt. If it is false, `promoteFollower` in `follower-statements.ts` is sent instead. */
export const HAS_NO_FOLLOWER = 'attribute_not_exists(#follower)';
/** Effect of every operation that ends a task: it leaves the index, and its row stays until its retention period is over. */
export const FINISH = 'SET #state = :finished, #finishedAt = :now, #nonce = :nonce, #ttl = :ttl';
/** Dead tasks are listed in the directory index for operators, which costs one more write unit. */
export const LIST_AS_DEAD = '#directoryKey = :deadKey, #directoryName = :deadName';

/**
 * Guard: there is no task, and no bar against this write, see `bar-statements.ts`.
 * Effect: ready, due at runAt; the callback of a batch is never due.
 *   The counter starts at the clock: above every token that a former row gave out in at most a thousand writes a second.
 * Outcomes: refused = the id is taken; the row shows by which task.
 */
export function enqueueTask(
  table: string,
  task: NewTask,
  shards: number,
  { now, nonce }: Stamp,
  seat?: Seat,
): Statement<'put'> {
  const { queue, id, name, priority, links: { batch, notify } = {}, tenant, schedule, children } = task;
  const createdBy = task.hasGeneratedId === true ? undefined : createdByOf(nonce);
  const row = {
    ...taskKey(queue, id),
    v: SCHEMA_VERSION,
    queue,
    name,
    priority,
    input: storedJson(task.input),
    state: 'ready',
    createdAt: now,
    attempts: 0,
    leaseCounter: now,
    nonce,
    ...placeOf(task, { now, shards }, seat),
    ...defined(optionAttributes(task)),
    ...defined({ createdBy, line: seat?.key, ticket: seat?.ticket, tenant, batch, notify }),
    ...(schedule && { schedule: occurrenceAttribute(schedule) }),
    ...(children && { children: children.id }),
  };
  return createStatement('task.enqueue', table, row, { guard: HAS_NO_TASK, values: { ':nonce': nonce } });
}

/**
 * Guard: ready, due, and not written since it was observed; not expired, if it can expire.
 *   If it is in a line, the caller has seen that its turn has come, and a turn never goes back.
 * Effect: running under `session`; counter + 1, attempts + 1. The index entry stays, so that a claim costs one unit.
 * Outcomes: refused = claimed by another worker, changed, no longer due, or expired.
 */
export function claimTask(table: string, observed: ReadyTask, session: string, stamp: Stamp): Statement<'update'> {
  return updateTask('task.claim', table, observed, stamp, {
    guard: [
      IS_DUE,
      // Only the observed work may run, because other work under its id may have another key or expiry.
      '#nonce = :observedNonce',
      ...(observed.expiresAt === undefined ? [] : ['#expiresAt > :now']),
    ].join(' AND '),
    effect: observed.expiresAt === undefined ? TAKE : `${TAKE} REMOVE #expiresAt`,
    // The row is as observed, plus the effect.
    omitsNewRow: true,
    values: { ':session': session },
  });
}

/**
 * Guard: still running under the observed session and counter; the caller has seen that the session has ended, which is final.
 * Effect: like a claim, plus one more death.
 * Outcomes: refused = another worker took it over, or its holder finished it at the last moment.
 */
export function takeOverTask(table: string, observed: RunningTask, session: string, stamp: Stamp): Statement<'update'> {
  return updateTask('task.takeOver', table, observed, stamp, {
    guard: IS_OBSERVED,
    effect: `${TAKE}, ${COUNT_DEATH}, ${remember(observed)}`,
    values: { ':session': session, ':past': pastAttempt(observed, 'died', stamp.now) },
  });
}

/**
 * Guard: as take over.
 * Effect: dead: all attempts are used up and the last worker crashed.
 * Outcomes: as take over.
 */
export function markDead(table: string, observed: RunningTask, error: TaskError, stamp: EndStamp): Statement<'update'> {
  return updateTask('task.markDead', table, observed, stamp, {
    guard: `${IS_OBSERVED} AND ${HAS_NO_FOLLOWER}`,
    effect: `${FINISH}, #lastError = :error, ${COUNT_DEATH}, ${LIST_AS_DEAD} ${LEAVE_READY}`,
    values: deathValues(observed, error, stamp),
  });
}

/**
 * Guard: mine.
 * Effect: done, with its result.
 * Outcomes: refused = taken over, or ended by an operator.
 */
export function completeTask(
  table: string,
  claim: Claim,
  result: StoredText | undefined,
  stamp: EndStamp,
): Statement<'update'> {
  const leave = leaveFor(stamp);
  return updateTask('task.complete', table, claim, stamp, {
    guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER}`,
    effect: `${FINISH}${result === undefined ? '' : ', #result = :result'}${leave.set} ${leave.remove}`,
    omitsNewRow: true,
    values: { ...leave.values, ':finished': 'done', ':result': result },
  });
}

/**
 * Guard: mine.
 * Effect: ready again at readyAt, error kept; the attempt refunded if the task was not to blame.
 * Outcomes: refused = taken over.
 */
export function retryTask(
  table: string,
  claim: Claim,
  { error, readyAt, isRefunded = false }: { error: TaskError; readyAt: number; isRefunded?: boolean },
  shards: number,
  stamp: Stamp,
): Statement<'update'> {
  const { now } = stamp;
  const later = moveInTime(claim, { readyAt, now, shards });
  const refund = isRefunded ? '#attempts = #attempts - :one, ' : '';
  return updateTask('task.retry', table, claim, stamp, {
    guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER}`,
    effect: `SET #state = :ready, ${refund}${later.effect}, #lastError = :error, #failingSince = if_not_exists(#failingSince, :now), #nonce = :nonce, ${remember(claim)} ${LEAVE_CLAIM}, #handBacks${andLeave(later)}`,
    values: {
      ...later.values,
      ':error': { ...error },
      ':past': pastAttempt(claim, isRefunded ? 'released' : 'failed', now, error),
    },
  });
}

/**
 * Guard: mine.
 * Effect: dead, error kept.
 * Outcomes: refused = taken over.
 */
export function discardTask(table: string, claim: Claim, error: TaskError, stamp: EndStamp): Statement<'update'> {
  return updateTask('task.discard', table, claim, stamp, {
    guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER}`,
    effect: `${FINISH}, #lastError = :error, ${LIST_AS_DEAD} ${LEAVE_READY}`,
    values: deathValues(claim, error, stamp),
  });
}

/**
 * Guard: mine.
 * Effect: cancelled, as the holder was requested to do; the request in the row says when and why.
 * Outcomes: refused = taken over, or ended by an operator.
 */
export function giveUpTask(table: string, claim: Claim, reason: string, stamp: EndStamp): Statement<'update'> {
  const leave = leaveFor(stamp);
  return updateTask('task.giveUp', table, claim, stamp, {
    guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER}`,
    effect: `${FINISH}, #cancellation = if_not_exists(#cancellation, :cancellation)${leave.set} ${leave.remove}`,
    values: { ...leave.values, ':finished': 'cancelled', ':cancellation': { at: stamp.now, reason } },
  });
}

/**
 * Guard: mine. Outcomes: refused = taken over.
 * Effect: ready again at once, the attempt refunded. `readyAt` stays: it is in the past, and moving it would cost two index writes.
 *   If the claim has a count of consecutive hand-backs, it is stored; otherwise the stored count stays.
 */
export function releaseTask(table: string, claim: Claim, stamp: Stamp): Statement<'update'> {
  const { handBacks } = claim;
  const count = handBacks === undefined || handBacks === 0 ? '' : ', #handBacks = :handBacks';
  const forget = handBacks === 0 ? ', #handBacks' : '';
  return updateTask('task.release', table, claim, stamp, {
    goesFirst: true,
    guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER}`,
    effect: `SET #state = :ready, #attempts = #attempts - :one, #nonce = :nonce, ${remember(claim)}${count} ${LEAVE_CLAIM}${forget}`,
    values: { ':handBacks': handBacks, ':past': pastAttempt(claim, 'released', stamp.now) },
  });
}

/**
 * Guard: mine.
 * Effect: ready again at readyAt, the attempt refunded.
 * Outcomes: refused = taken over.
 */
export function snoozeTask(
  table: string,
  claim: Claim,
  at: { readyAt: number; shards: number },
  stamp: Stamp,
): Statement<'update'> {
  const { now } = stamp;
  const later = moveInTime(claim, { ...at, now });
  return updateTask('task.snooze', table, claim, stamp, {
    guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER}`,
    effect: `SET #state = :ready, #attempts = #attempts - :one, ${later.effect}, #nonce = :nonce, ${remember(claim)} ${LEAVE_CLAIM}, #failingSince, #handBacks${andLeave(later)}`,
    values: { ...later.values, ':past': pastAttempt(claim, 'snoozed', now) },
  });
}

/**
 * Guard: mine, and later than the last progress saved by this claim, because a request without a response may arrive after its successor.
 * Effect: progress kept for the next attempt.
 * Outcomes: refused = taken over.
 */
export function saveProgress(
  table: string,
  claim: Claim,
  progress: StoredText,
  stamp: SequencedStamp,
): Statement<'update'> {
  return updateTask('task.progress', table, claim, stamp, {
    guard: `${IS_MINE} AND #sequence < :sequence`,
    effect: 'SET #progress = :progress, #sequence = :sequence, #nonce = :nonce',
    values: { ':progress': progress },
  });
}

export const readTask = (table: string, queue: string, id: string): Statement<'get'> =>
  getStatement('task.get', table, taskKey(queue, id));

export function readTasks(
  table: string,
  keys: readonly TaskKey[],
  options: { readonly consistent: boolean } = { consistent: false },
): Statement<'batchGet'> {
  const rows = keys.map(({ queue, id }) => taskKey(queue, id));
  return batchGetStatement('task.getMany', table, rows, options);
}

export const IS_DUE = '#state = :ready AND #leaseCounter = :observedCounter AND #readyAt <= :now';
const COUNT_DEATH = '#deaths = if_not_exists(#deaths, :zero) + :one';
export const LEAVE_CLAIM = 'REMOVE #session, #claimedAt';
const TAKE =
  'SET #state = :running, #session = :session, #claimedAt = :now, #nonce = :nonce, ' +
  '#leaseCounter = #leaseCounter + :one, #attempts = #attempts + :one, #sequence = :zero';
export const IS_OBSERVED = '#state = :running AND #leaseCounter = :observedCounter AND #session = :observedSession';

export function mineValues(claim: Claim): Values {
  return { ':running': 'running', ':counter': claim.leaseCounter, ':session': claim.session };
}

export function deathValues(task: TaskKey, error: TaskError, stamp: EndStamp): Values {
  const { partition, name } = deadPlace(task, stamp);
  return { ...finishValues('dead', stamp), ':error': { ...error }, ':deadKey': partition, ':deadName': name };
}

export function finishValues(state: ChildEnding, { now, nonce }: Stamp): Values {
  return { ':finished': state, ':now': now, ':nonce': nonce, ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.task) };
}

/** A task as its writer saw it, or as its holder has it. */
interface KnownTask extends TaskKey {
  readonly state?: string;
  readonly leaseCounter?: number;
  readonly session?: string | undefined;
  readonly nonce?: string;
}

type WriteStamp = Stamp & { readonly sequence?: number | undefined };

/** An update whose expressions may name what is known of the row and of the write, so that a statement gives only the rest. */
export function updateTask(
  verb: Verb,
  table: string,
  task: KnownTask,
  stamp: WriteStamp,
  parts: Omit<UpdateParts, 'table' | 'key' | 'stamp'>,
): Statement<'update'> {
  const values = { ...knownOf(task), ...ofWrite(stamp), ...parts.values };
  return updateStatement(verb, { ...parts, table, key: taskKey(task.queue, task.id), stamp, values });
}

function knownOf({ state, leaseCounter, session, nonce }: KnownTask): Values {
  return {
    ':counter': leaseCounter,
    ':session': session,
    ':observedState': state,
    ':observedCounter': leaseCounter,
    ':observedSession': session,
    ':observedNonce': nonce,
  };
}

function ofWrite({ now, sequence }: WriteStamp): Values {
  return {
    ':ready': 'ready',
    ':running': 'running',
    ':sequence': sequence,
    ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.task),
  };
}
