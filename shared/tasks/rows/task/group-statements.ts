/** The task row, continued: a due task that goes to the others of its key. `place.ts` explains the reason. */
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { ReadyTask } from '../../task/task.ts';
import { groupOf, moveTo } from './place.ts';
import { IS_DUE } from './task-statements.ts';
import { updateTask } from './task-update.ts';

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
