/**
 * The task row, continued: commits, and the bar against their late copies. `task-statements.ts` describes the row.
 *
 * A condition on another row, such as a user's own condition, may refuse a commit. The task's row is then unchanged, so a copy
 * that the network delivers later would find its claim unchanged, and the condition may be true by then. Therefore a commit has a number
 * within its claim, and after a refusal the bar raises the row's `sequence` to that number.
 */
import type { StoredText } from '../../../dynamo/engine/stored-json.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { SequencedStamp } from '../../task/task-store.ts';
import type { Claim, TaskKey } from '../../task/task.ts';
import { spawnedAttribute } from './attributes.ts';
import type { EndStamp } from './ended-entries.ts';
import { leaveFor } from './ended-entries.ts';
import { FINISH, HAS_NO_FOLLOWER, IS_MINE, updateTask } from './task-statements.ts';

/**
 * Guard: mine, and not barred.
 * Effect: done, with its result and the names of what it spawned, in one transaction with its effects.
 * Outcomes: refused = taken over, or ended by an operator; cancelled = a condition of an effect was false.
 */
export function commitTask(
  table: string,
  claim: Claim,
  { result, children }: { readonly result: StoredText | undefined; readonly children: readonly TaskKey[] },
  stamp: SequencedStamp & EndStamp,
): Statement<'update'> {
  const spawned = children.length === 0 ? undefined : spawnedAttribute(claim.queue, children);
  const leave = leaveFor(stamp);
  return updateTask('task.commit', table, claim, stamp, {
    guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER} AND #sequence < :sequence`,
    effect: [
      FINISH,
      ...(result === undefined ? [] : [', #result = :result']),
      ...(spawned === undefined ? [] : [', #spawned = :spawned']),
      `${leave.set} ${leave.remove}`,
    ].join(''),
    omitsNewRow: true,
    values: { ...leave.values, ':finished': 'done', ':result': result, ':spawned': spawned },
  });
}

/**
 * Guard: mine, and no write with this number has been applied.
 * Effect: the commit with this number, and earlier writes of the claim, are refused whenever they arrive.
 * Outcomes: refused = a copy of the commit was faster, so its nonce is in the row; or taken over.
 */
export function barCommit(table: string, claim: Claim, stamp: SequencedStamp): Statement<'update'> {
  return updateTask('task.bar', table, claim, stamp, {
    guard: `${IS_MINE} AND #sequence < :sequence`,
    effect: 'SET #sequence = :sequence, #nonce = :nonce',
    omitsNewRow: true,
  });
}
