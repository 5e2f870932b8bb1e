/**
 * The task row, continued: a parent or a callback that waits for children.
 * It is ready, and becomes due when the last child ends. `task-statements.ts` describes the row.
 */
import type { BatchKey } from '../../task/batch.ts';
import { NEVER } from '../../task/batch.ts';
import type { Stamp } from '../../../core/lease/write.ts';
import type { SequencedStamp } from '../../task/task-store.ts';
import type { Claim, TaskKey } from '../../task/task.ts';
import { taskKey } from '../../../dynamo/engine/keys.ts';
import type { Statement, TransactionCheck } from '../../../dynamo/engine/statement.ts';
import { checkStatement } from '../../../dynamo/engine/statement.ts';
import { pastAttempt, remember } from './history.ts';
import { andLeave, moveAlong, moveInTime } from './place.ts';
import { HAS_NO_FOLLOWER, IS_MINE, LEAVE_CLAIM } from './task-statements.ts';
import { updateTask } from './task-statements.ts';

/**
 * Guard: mine, and not barred, like a commit (`commit-statements.ts`). The same transaction creates the children.
 * Effect: ready, never due by time, the attempt refunded. Without children, it is due at once.
 * Outcomes: refused = taken over.
 */
export function waitForChildren(
  table: string,
  claim: Claim,
  batch: { readonly id: string; readonly total: number },
  shards: number,
  stamp: SequencedStamp,
): Statement<'update'> {
  const { now } = stamp;
  const later = moveInTime(claim, { readyAt: batch.total === 0 ? now : NEVER, now, shards });
  return updateTask('task.wait', table, claim, stamp, {
    guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER} AND #sequence < :sequence`,
    effect: `SET #state = :ready, #attempts = #attempts - :one, ${later.effect}, #children = :batch, #nonce = :nonce, ${remember(claim)} ${LEAVE_CLAIM}, #failingSince, #handBacks${andLeave(later)}`,
    values: { ...later.values, ':batch': batch.id, ':past': pastAttempt(claim, 'snoozed', now) },
  });
}

/**
 * Guard: the task waits for the children of this batch.
 * Effect: due at once. It stands where it waited, also if it has a key. A caller that observed the task earlier, to reschedule it, must read it again.
 * Outcomes: refused = it was cancelled, or got other work.
 */
export function resumeParent(
  table: string,
  parent: TaskKey & { readonly tenant?: string | undefined },
  batch: BatchKey,
  stamp: Stamp,
): Statement<'update'> {
  const now = moveAlong(parent, stamp.now);
  return updateTask('task.wake', table, parent, stamp, {
    guard: '#state = :ready AND #children = :batch',
    effect: `SET ${now.effect}, #nonce = :nonce`,
    values: { ...now.values, ':batch': batch.id },
  });
}

/**
 * Condition for a batch to end without waking its waiter: the waiter does not wait for this batch.
 * Outcomes: refused = an operator has retried the waiter since it was read, and it waits again.
 */
export function isNotWaiting(table: string, { queue, id }: TaskKey, batch: BatchKey): TransactionCheck {
  const guard = 'attribute_not_exists(#children) OR #children <> :batch OR #state <> :ready';
  return checkStatement(table, taskKey(queue, id), guard, { ':batch': batch.id, ':ready': 'ready' });
}
