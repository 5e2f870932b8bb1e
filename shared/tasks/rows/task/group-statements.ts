/** The task row, continued: a due task that goes to the others of its key. `place.ts` explains the reason. */
import type { Stamp } from '../../../core/lease/stamp.ts';
import { taskKey } from '../../../dynamo/engine/keys.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { updateStatement } from '../../../dynamo/engine/statement.ts';
import type { ReadyTask } from '../../task/task.ts';
import { groupOf, moveTo } from './place.ts';
import { IS_DUE } from './task-statements.ts';

/**
 * Guard: ready, due, and not written since it was observed.
 * Effect: stands with the other due tasks of its key, because the key is full.
 * Outcomes: refused = claimed, changed, or moved by another worker.
 */
export function joinGroup(
  table: string,
  observed: ReadyTask,
  shards: number,
  { now, nonce }: Stamp,
): Statement<'update'> {
  const { readyAt } = observed;
  const place = moveTo({ ...observed, ...groupOf(observed.links) }, { readyAt, now: readyAt, shards });
  return updateStatement('task.join', {
    table,
    key: taskKey(observed.queue, observed.id),
    guard: `${IS_DUE} AND #nonce = :observedNonce`,
    effect: `SET ${place.effect}, #nonce = :nonce REMOVE ${place.left}`,
    omitsNewRow: true,
    values: {
      ...place.values,
      ':ready': 'ready',
      ':observedCounter': observed.leaseCounter,
      ':observedNonce': observed.nonce,
      ':now': now,
      ':nonce': nonce,
    },
  });
}
