/**
 * The task row, continued: a parent or a callback that waits for children.
 * It is ready, and becomes due when the last child ends. `task-statements.ts` describes the row.
 */
import type { BatchKey } from '../../task/batch.ts';
import { NEVER } from '../../task/batch.ts';
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { SequencedStamp } from '../../task/task-store.ts';
import type { Claim, TaskKey } from '../../task/task.ts';
import { taskKey } from '../../../dynamo/engine/keys.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { TransactionCheck } from '../../../dynamo/engine/statement.ts';
import { checkStatement, updateStatement } from '../../../dynamo/engine/statement.ts';
import { pastAttempt, remember } from './history.ts';
import { andLeave, moveAlong, moveInTime } from './place.ts';
import { HAS_NO_FOLLOWER, IS_MINE, LEAVE_CLAIM, mineValues } from './task-statements.ts';

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
  { now, nonce, sequence }: SequencedStamp,
): Statement<'update'> {
  const later = moveInTime(claim, { readyAt: batch.total === 0 ? now : NEVER, now, shards });
  return updateStatement('task.wait', {
    table,
    key: taskKey(claim.queue, claim.id),
    guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER} AND #sequence < :sequence`,
    effect: `SET #state = :ready, #attempts = #attempts - :one, ${later.effect}, #children = :batch, #nonce = :nonce, ${remember(claim)} ${LEAVE_CLAIM}, #failingSince, #handBacks${andLeave(later)}`,
    values: {
      ...mineValues(claim),
      ':ready': 'ready',
      ':one': 1,
      ':batch': batch.id,
      ':nonce': nonce,
      ':sequence': sequence,
      ...later.values,
      ':past': pastAttempt(claim, 'snoozed', now),
    },
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
  return updateStatement('task.wake', {
    table,
    key: taskKey(parent.queue, parent.id),
    guard: '#state = :ready AND #children = :batch',
    effect: `SET ${now.effect}, #nonce = :nonce`,
    values: { ...now.values, ':ready': 'ready', ':batch': batch.id, ':nonce': stamp.nonce },
  });
}

/**
 * Condition for a batch to end without waking its waiter: the waiter does not wait for this batch.
 * Outcomes: refused = an operator has retried the waiter since it was read, and it waits again.
 */
export function isNotWaiting(table: string, { queue, id }: TaskKey, batch: BatchKey): TransactionCheck {
  return checkStatement(
    table,
    taskKey(queue, id),
    'attribute_not_exists(#children) OR #children <> :batch OR #state <> :ready',
    { ':batch': batch.id, ':ready': 'ready' },
  );
}
