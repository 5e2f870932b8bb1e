/**
 * What a worker that is gone has left: its session, and the tasks that it ran.
 *
 * Elsewhere nobody knows that a silent worker is dead before its lease is over. The supervisor has seen its process end,
 * so it hands back in its name what the crash did not concern, and ends the session at once.
 * Each write is conditional, as the worker's own would be: one that the worker sent before its end may still come first.
 */
import { StoreUnavailableError } from '../../shared/core/errors.ts';
import { stampOf } from '../../shared/core/lease/stamp.ts';
import type { CurrentTask } from '../../shared/tasks/task/inside.ts';
import { claimOf } from '../../shared/tasks/task/task.ts';
import type { Connection, QueueConnection } from '../connection.ts';

export interface Bereaved {
  readonly session: string;
  /** Tasks to hand back, attempts not counted. */
  readonly innocent: readonly CurrentTask[];
}

/** Returns the tasks that were handed back. Without an answer of the store, the session is left to expire. */
export async function settleBereaved(
  { session, innocent }: Bereaved,
  connection: Connection,
  { queue, store }: QueueConnection,
): Promise<readonly CurrentTask[]> {
  const handedBack: CurrentTask[] = [];
  try {
    for (const task of innocent) {
      const row = await store.get({ queue, id: task.id });
      if (row?.state !== 'running' || row.session !== session) continue;
      const { kind } = await store.release(claimOf(row), stampOf(connection.runtime));
      if (kind === 'applied') handedBack.push(task);
    }
    await connection.leasehold.sessions.destroy(session);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
  return handedBack;
}
