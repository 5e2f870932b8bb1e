/**
 * Settles the session and the running tasks of a worker whose process has ended.
 *
 * Other machines must wait until the lease of a silent worker is over. The supervisor has seen the process end, so it hands back the tasks
 * that did not cause the crash, in the worker's name, and ends the session at once.
 * Each write has the same condition as the worker's own, because a write that the worker sent before its end may still arrive first.
 */
import { StoreUnavailableError } from '../../shared/core/errors.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import type { CurrentTask } from '../../shared/tasks/task/task-scope.ts';
import { claimOf } from '../../shared/tasks/task/task.ts';
import type { CliConnection, QueueConnection } from '../connection.ts';

interface Bereaved {
  readonly session: string;
  /** Tasks to hand back, attempts not counted. */
  readonly innocent: readonly CurrentTask[];
}

/** Returns the tasks that were handed back. If the store does not respond, the session expires. */
export async function settleBereaved(
  { session, innocent }: Bereaved,
  connection: Pick<CliConnection, 'leasehold' | 'runtime'>,
  { queue, store }: Pick<QueueConnection, 'queue' | 'store'>,
): Promise<readonly CurrentTask[]> {
  const handedBack: CurrentTask[] = [];
  try {
    for (const task of innocent) {
      const row = await store.get({ queue, id: task.id });
      if (row?.state !== 'running' || row.session !== session) continue;
      const { kind } = await store.release(claimOf(row), stampOf(connection.runtime));
      if (kind === 'applied') handedBack.push(task);
    }
    // Its process is gone, and trusts nothing.
    await connection.leasehold.sessions.destroy(session, { lockDelay: 0 });
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
  return handedBack;
}
