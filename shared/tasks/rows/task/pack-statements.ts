/**
 * The task row, continued: a pack, whose input is a list of items. `task-statements.ts` describes the rest of the row.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | total | N | number of items; makes the task a pack | enqueue |
 * | input | S or B, JSON | the items' inputs, a list | enqueue |
 * | done | NS | indexes of the items that are done | record, finish, commit, move |
 * | moved | NS | indexes of the items that have left for their own rows | move |
 * | cancelled | NS | indexes of the cancelled items | cancel item |
 * | results | S or B, JSON | the items' results, by index, if they are kept | record, finish, commit, move |
 * | sequence | N | number of the claim's last write | claim, take over, record, finish, commit, move |
 *
 * Sets only grow under a claim, and adding to one twice changes nothing;
 * `results` is written whole, so each write builds on the one before it:
 * a commit with an unknown outcome may have stored a result.
 */
import type { MovedItem, NewPack, NumberedStamp, PackEntry } from '../../bulk/pack-store.ts';
import type { Claim, ReadyTask, RunningTask, TaskKey } from '../../task/task.ts';
import { PAST_ATTEMPTS_KEPT, revocationOf } from '../../task/task.ts';
import { itemId } from '../../task/pack.ts';
import type { Stamp } from '../../../core/lease/stamp.ts';
import { encodeInput } from './pack-codec.ts';
import { deadPartitionKey, shardOf, taskKey } from '../../../dynamo/engine/keys.ts';
import { DEAD_SHARDS, RETENTION_DAYS, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { createStatement, updateStatement } from '../../../dynamo/engine/statement.ts';
import { storedJson } from '../../../dynamo/engine/stored-json.ts';
import { actionOf, together } from '../../../dynamo/engine/transaction.ts';
import { revokeFromSession } from '../../../session/row/session-statements.ts';
import { pastAttempt } from './history.ts';
import {
  FINISH,
  IS_MINE,
  IS_OBSERVED,
  LEAVE_INDEX,
  enqueueTask,
  finishValues,
  mineValues,
  observedValues,
} from './task-statements.ts';

/** Guard of every operation of a pack's holder. */
const IS_MY_NEXT = `${IS_MINE} AND #sequence = :previousSequence`;
/** A task with a cancel request may still become done: code that completes it in spite of the request wins. */
const IS_UNDECIDED = 'NOT contains(#done, :item) AND NOT contains(#moved, :item)';

/**
 * Guard: the row is absent.
 * Effect: as `enqueueTask`, with nothing done.
 * Outcomes: refused = the id is taken; the row shows by which task.
 */
export function enqueuePack(table: string, pack: NewPack, shards: number, stamp: Stamp): Statement<'put'> {
  const { Item } = enqueueTask(table, pack, shards, stamp).input;
  return createStatement('pack.enqueue', table, {
    ...taskKey(pack.queue, pack.id),
    ...Item,
    input: encodeInput(pack.input),
    total: pack.input.length,
  });
}

/**
 * Guard: mine, and the last applied write of this claim is the one that we know of,
 * because an unanswered request may have been applied, or may arrive late.
 * Effect: some items are done.
 * Outcomes: refused = taken over, or ended by an operator; or still ours, but newer than known.
 */
export function recordItems(table: string, claim: Claim, entry: PackEntry, stamp: NumberedStamp): Statement<'update'> {
  return updateStatement('pack.record', {
    table,
    key: taskKey(claim.queue, claim.id),
    guard: IS_MY_NEXT,
    effect: `SET ${NOTE}${withResults(entry)}${adding(entry)}`,
    values: entryValues(claim, entry, stamp),
  });
}

/**
 * Guard: as record. No item is open any more: only the holder decides items, and it has checked this.
 * Effect: the last items are done, and so is the pack.
 * Outcomes: as record.
 */
export function finishPack(table: string, claim: Claim, entry: PackEntry, stamp: NumberedStamp): Statement<'update'> {
  return updateStatement('pack.finish', {
    table,
    key: taskKey(claim.queue, claim.id),
    guard: IS_MY_NEXT,
    effect: `${FINISH}, #sequence = :sequence${withResults(entry)} ${LEAVE_INDEX}${adding(entry)}`,
    values: { ...entryValues(claim, entry, stamp), ...finishValues('done', stamp) },
  });
}

/**
 * Guard: as record, and the item is open.
 * Effect: it is done, in one transaction with the user's writes. Other items that have ended go with it.
 * Outcomes: refused = as record, or the item has been decided; cancelled = a condition of the user's was false.
 */
export function commitItem(
  table: string,
  claim: Claim,
  index: number,
  entry: PackEntry,
  stamp: NumberedStamp,
): Statement<'update'> {
  return updateStatement('pack.commit', {
    table,
    key: taskKey(claim.queue, claim.id),
    guard: `${IS_MY_NEXT} AND ${IS_UNDECIDED}`,
    effect: `SET ${NOTE}${withResults(entry)}${adding(entry)}`,
    values: { ...entryValues(claim, entry, stamp), ':item': index },
  });
}

/**
 * Guard: as commit. Its own row is created in the same transaction.
 * Effect: it is a separate task. If it is the suspect of a crash,
 * the crashed claim does not count against the other items, which did not run in it.
 * Outcomes: refused = as commit; cancelled = the item's id is taken by another task.
 */
export function leavePack(
  table: string,
  claim: Claim,
  { index, isSuspect }: MovedItem,
  entry: PackEntry,
  stamp: NumberedStamp,
): Statement<'update'> {
  const refund = isSuspect ? ', #attempts = #attempts - :one' : '';
  return updateStatement('pack.move', {
    table,
    key: taskKey(claim.queue, claim.id),
    guard: `${IS_MY_NEXT} AND ${IS_UNDECIDED}`,
    effect: `SET ${NOTE}${refund}${withResults(entry)} ADD #moved :moved${entry.done.length === 0 ? '' : ', #done :done'}`,
    values: {
      ...entryValues(claim, entry, stamp),
      ':item': index,
      ':moved': new Set([index]),
      ...(isSuspect ? { ':one': 1 } : {}),
    },
  });
}

/**
 * Guard: the item's id is free. Only its pack's holder creates it, and only once, because both writes are in one transaction.
 * Effect: a task with its attempts so far, ready or dead. Its counter starts above any token that its pack has given out.
 * Outcomes: refused = a task was enqueued under the same id.
 */
export function createMovedItem(
  table: string,
  pack: Pick<Claim, 'leaseCounter'>,
  { task, attempts, deaths, isDead, error, lastAttempt }: MovedItem,
  shards: number,
  stamp: Stamp,
): Statement<'put'> {
  const { readyKey, readyAt, ...item } = enqueueTask(table, task, shards, stamp).input.Item as Record<string, unknown>;
  const { leaseCounter, how } = lastAttempt;
  return createStatement('pack.move', table, {
    ...taskKey(task.queue, task.id),
    ...item,
    attempts,
    ...(deaths === 0 ? {} : { deaths }),
    leaseCounter: Math.max(stamp.now, pack.leaseCounter),
    [`past${leaseCounter % PAST_ATTEMPTS_KEPT}`]: pastAttempt(
      lastAttempt,
      how,
      lastAttempt.endedAt,
      how === 'failed' ? error : undefined,
    ),
    ...(error === undefined ? {} : { lastError: { ...error } }),
    ...(isDead ? deathOf(task, stamp) : { readyKey, readyAt }),
  });
}

/**
 * Guard: the item is open, and the pack waits, or runs under the observed session and counter.
 * Effect: the item is cancelled, unless it has started. The nonce stays, so a repeated request changes nothing.
 * Outcomes: refused = the pack changed hands, or the item has been decided.
 */
export function cancelItem(table: string, observed: ReadyTask | RunningTask, index: number): Statement<'update'> {
  const isWaiting = observed.state === 'ready';
  return updateStatement('pack.cancelItem', {
    table,
    key: taskKey(observed.queue, observed.id),
    guard: isWaiting ? `#state = :ready AND ${IS_UNDECIDED}` : `${IS_OBSERVED} AND ${IS_UNDECIDED}`,
    effect: 'ADD #cancelled :items',
    values: {
      ...(isWaiting ? { ':ready': 'ready' } : observedValues(observed)),
      ':item': index,
      ':items': new Set([index]),
    },
  });
}

/**
 * Guard: as cancel, running, and its session live.
 * Effect: as cancel; and if the item runs, its holder learns of it at its next heartbeat.
 * Outcomes: refused = as cancel; cancelled = the session has just ended: read it again.
 */
export function cancelRunningItem(
  table: string,
  observed: RunningTask,
  index: number,
  { nonce }: Stamp,
): Statement<'transactWrite'> {
  const { queue, id, leaseCounter, session } = observed;
  const tell = revokeFromSession(table, session, revocationOf({ queue, id: itemId(id, index), leaseCounter }));
  return together(cancelItem(table, observed, index), [actionOf(tell)], nonce);
}

const NOTE = '#nonce = :nonce, #sequence = :sequence';

function withResults({ results }: PackEntry): string {
  return results === undefined ? '' : ', #results = :results';
}

function adding({ done }: PackEntry): string {
  return done.length === 0 ? '' : ' ADD #done :done';
}

function entryValues(claim: Claim, { done, results }: PackEntry, { nonce, sequence, previousSequence }: NumberedStamp) {
  return {
    ...mineValues(claim),
    ':nonce': nonce,
    ':sequence': sequence,
    ':previousSequence': previousSequence,
    ...(done.length === 0 ? {} : { ':done': new Set(done) }),
    ...(results === undefined ? {} : { ':results': storedJson(results) }),
  };
}

function deathOf({ queue, id }: TaskKey, { now }: Stamp) {
  return {
    state: 'dead',
    finishedAt: now,
    ttl: ttlEpochSeconds(now, RETENTION_DAYS.task),
    directoryKey: deadPartitionKey(queue, shardOf(id, DEAD_SHARDS)),
    directoryName: `${new Date(now).toISOString()}#${id}`,
  };
}
