/** The write that cancels a task, with its dependent rows. Used by the task store, and by schedules that stop earlier tasks. */
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { Cancellation, ReadyTask, RunningTask } from '../../task/task.ts';
import { promoteFollower } from './follower-statements.ts';
import type { DependentRows } from './dependent-rows.ts';
import { cancelAbandonedTask, cancelWaitingTask } from './operator-statements.ts';

/**
 * Cancels a waiting task, or a running task whose session the caller has seen ended. If it has a follower, the task continues with that.
 */
export function cancelTask(
  linked: DependentRows,
  { table, shards }: { readonly table: string; readonly shards: number },
  observed: ReadyTask | RunningTask,
  cancellation: Cancellation,
  stamp: Stamp,
): ReturnType<DependentRows['settle']> {
  if (observed.state === 'ready') {
    const own = cancelWaitingTask(table, observed, cancellation, stamp);
    const early = cancelWaitingTask(table, observed, cancellation, stamp, shards);
    return linked.settle({ task: observed, from: 'ready', to: 'cancelled', own, early }, stamp);
  }
  const own = cancelAbandonedTask(table, observed, cancellation, stamp);
  return linked.settle(
    {
      task: observed,
      to: 'cancelled',
      own,
      promote: (follower) => promoteFollower(table, observed, { how: 'cancelled', follower }, shards, stamp),
    },
    stamp,
  );
}
