/**
 * Resends a claim until it is decided.
 *
 * If a claim was applied but its response was lost, the task runs under a live session
 * although no code of it runs. It would stay so for
 * as long as its worker has other running tasks. So the worker repeats the claim of the observed task.
 * Each of these requests compares the counter, so at most one of them is applied.
 * If the row that refuses a request has our own session and a counter that is one higher,
 * an earlier request was applied.
 *
 * Not decided here: a request that arrives after its key was found at capacity.
 * The picker finds that task in the index and adopts it (`tasks/picker/rows.ts`).
 */
import { StoreUnavailableError } from '../../core/errors.ts';
import type { Outcome } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { TaskLog } from '../task/context.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { ReadyTask, RunningTask, TaskRecord } from '../task/task.ts';

/** Longest pause between requests for one claim. Each request was tried for seconds. */
const RESEND_MS = 1_000;

interface ClaimPorts {
  readonly tasks: Pick<TaskStore, 'get'>;
  readonly session: Pick<SessionHolder, 'id' | 'signal'>;
  readonly runtime: Runtime;
  readonly log: TaskLog;
  /** Aborts when the worker must exit. Its session then ends, which frees the task. */
  readonly handBack: AbortSignal;
}

/**
 * @param send sends the claim once, with a new stamp
 * @throws StoreUnavailableError when nothing was applied, or the worker must stop before the outcome is known
 * @throws LeaseLostError when the session is no longer trusted
 */
export async function decidedClaim<Claimed extends Outcome<RunningTask, TaskRecord>>(
  observed: ReadyTask | RunningTask,
  send: () => Promise<Claimed>,
  ports: ClaimPorts,
): Promise<Claimed | Extract<Outcome<RunningTask>, { kind: 'applied' }>> {
  const { session, runtime, log, handBack, tasks } = ports;
  const { id: task } = observed;
  for (let isUnresolved = false; ;) {
    try {
      const outcome = await send();
      if (!isUnresolved || outcome.kind === 'applied') return outcome;
      const row = outcome.current ?? (await tasks.get(observed));
      return isOurs(row) ? { kind: 'applied', row } : outcome;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      isUnresolved ||= error.applied === 'unknown';
      if (!isUnresolved || handBack.aborted) throw error;
      log.warn('claim undecided', { task, session: session.id, error: error.message });
      const pauseMs = RESEND_MS * (0.5 + 0.5 * runtime.random.next());
      await runtime.clock.sleep(pauseMs, AbortSignal.any([session.signal, handBack]));
    }
  }

  function isOurs(row: TaskRecord | undefined): row is RunningTask {
    return row?.state === 'running' && row.session === session.id && row.leaseCounter === observed.leaseCounter + 1;
  }
}
