/**
 * A claim that is sent until it is decided.
 *
 * A task whose claim was applied and not answered runs under a session that lives on,
 * and no code of it runs: left alone it would stay so for
 * as long as its worker has other tasks at work. So the worker asks again.
 * It is the same claim that it asks for, of the task as it was observed:
 * each of these requests compares the counter, so one of them at most is applied,
 * and a refusal by our own session, one counter further on, shows
 * that one was.
 *
 * What is not decided here: a request that arrives after its key was found full.
 * It is met in the index and adopted (`tasks/picker/candidates.ts`).
 */
import { StoreUnavailableError } from '../../core/errors.ts';
import type { Outcome } from '../../core/lease/outcome.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { TaskLog } from '../task/context.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { ReadyTask, RunningTask, TaskRecord } from '../task/task.ts';

/** Between requests for one claim, at most. Each of them has tried for seconds. */
const RESEND_MS = 1_000;

interface ClaimPorts {
  readonly tasks: Pick<TaskStore, 'get'>;
  readonly session: Pick<SessionHolder, 'id' | 'signal'>;
  readonly runtime: Runtime;
  readonly log: TaskLog;
  /** Aborts when the worker must go: its session ends with it, and that frees the task. */
  readonly handBack: AbortSignal;
}

/**
 * @param send asks for it once, with a stamp of its own
 * @throws StoreUnavailableError when nothing was applied, or the worker has to go before it is decided
 * @throws LeaseLostError when the session is not believed in any more
 */
export async function decidedClaim<Claimed extends Outcome<RunningTask, TaskRecord>>(
  observed: ReadyTask | RunningTask,
  send: () => Promise<Claimed>,
  ports: ClaimPorts,
): Promise<Claimed | Extract<Outcome<RunningTask>, { kind: 'applied' }>> {
  const { session, runtime, log, handBack, tasks } = ports;
  const { id: task } = observed;
  for (let isInDoubt = false; ;) {
    try {
      const outcome = await send();
      if (!isInDoubt || outcome.kind === 'applied') return outcome;
      const row = outcome.current ?? (await tasks.get(observed));
      return isOurs(row) ? { kind: 'applied', row } : outcome;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      isInDoubt ||= error.applied === 'unknown';
      if (!isInDoubt || handBack.aborted) throw error;
      log.warn('claim undecided', { task, session: session.id, error: error.message });
      const pauseMs = RESEND_MS * (0.5 + 0.5 * runtime.random.next());
      await runtime.clock.sleep(pauseMs, AbortSignal.any([session.signal, handBack]));
    }
  }

  function isOurs(row: TaskRecord | undefined): row is RunningTask {
    return row?.state === 'running' && row.session === session.id && row.leaseCounter === observed.leaseCounter + 1;
  }
}
