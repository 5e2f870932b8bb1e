/** Kills one worker in the middle of its tasks with SIGKILL, as a crash would. */
import type { Clock } from '../../shared/core/runtime/clock.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { TaskKey } from '../../shared/tasks/task/task.ts';
import type { LocalLambda } from '../platform/lambda/local-lambda.ts';
import type { FleetView, WorkerView } from './worker-view.ts';

export interface Killing {
  readonly environmentId: string;
  readonly session: string;
  readonly at: number;
  /** Its tasks according to the table. */
  readonly tasks: readonly string[];
}

/** How often a worker is caught between two tasks before we give up: there may be none left that holds any. */
const TRIES_LIMIT = 400;
const BETWEEN_TRIES_MS = 20;

/**
 * Stops a worker, and kills it only if the table shows that it holds tasks, so the kill is always in the middle of a task.
 * @param keys the tasks that are not known to be finished
 */
export async function killOneWorker(
  ports: { readonly lambda: LocalLambda; readonly fleet: FleetView; readonly store: TaskStore; readonly clock: Clock },
  openKeys: () => readonly TaskKey[],
  signal: AbortSignal,
): Promise<Killing | undefined> {
  const { lambda, fleet, store, clock } = ports;
  for (let attempt = 0; attempt < TRIES_LIMIT && !signal.aborted; attempt++) {
    const victim = busiest(fleet);
    // Its invocation may have ended a moment ago; then there is nothing to freeze.
    if (victim?.session !== undefined && lambda.freeze(victim.environmentId)) {
      // A stopped process has nothing left in flight, so the table's answer stays true.
      const held = await tasksOf(victim.session, store, openKeys());
      if (held.length > 0) {
        const at = clock.now();
        lambda.kill(victim.environmentId);
        return { environmentId: victim.environmentId, session: victim.session, at, tasks: held };
      }
      lambda.thaw(victim.environmentId);
    }
    await clock.sleep(BETWEEN_TRIES_MS, signal);
  }
  return undefined;
}

function busiest(fleet: FleetView): WorkerView | undefined {
  const working = [...fleet.workers.values()].filter(({ state, running }) => state === 'working' && running.size > 0);
  return working.sort((a, b) => b.running.size - a.running.size)[0];
}

async function tasksOf(session: string, store: TaskStore, keys: readonly TaskKey[]): Promise<string[]> {
  const rows = await store.getMany(keys);
  return rows.filter((row) => row.state === 'running' && row.session === session).map(({ id }) => id);
}
