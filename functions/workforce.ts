/** The workers of one queue, for the functions that start them: the dispatcher and the waker. */
import type { Planned } from '../shared/tasks/dispatch/planning.ts';
import type { WorkerStarter } from '../shared/tasks/dispatch/dispatcher.ts';
import { workersSemaphore } from '../shared/tasks/dispatch/dispatcher.ts';
import { declareLimit } from '../shared/coordination/semaphore/change.ts';
import { readWhole } from '../shared/coordination/semaphore/fleet.ts';
import { judgeSemaphore } from '../shared/coordination/semaphore/state.ts';
import type { WakerStores } from '../shared/client/dispatch-stores.ts';
import { permitHolders } from '../shared/tasks/dispatch/live-workers.ts';
import type { DispatchEnv } from './env.ts';
import type { Connected, Telemetry } from './runtime.ts';
import type { WorkerInvoker } from './worker-invoker.ts';
import { createStarter } from './worker-invoker.ts';

/** An unanswered start must not delay the others; the log names each failed one. */
const START = { attempts: 2, requestTimeoutMs: 5_000 };

export function createLambdaStarter(): WorkerInvoker {
  return createStarter(START);
}

export function workforceOf(
  env: DispatchEnv,
  {
    stores,
    starter,
    logger,
  }: {
    readonly stores: Pick<Connected<WakerStores>, 'semaphores' | 'sessions' | 'runtime'>;
    readonly starter: WorkerInvoker;
    readonly logger: Telemetry['logger'];
  },
): WorkerStarter {
  const { queue, workerFunction, maxWorkers } = env;
  const permits = workersSemaphore(queue);
  return {
    async startWorker(event) {
      try {
        await starter.start(workerFunction, event);
      } catch (error) {
        logger.error('worker not started', { queue, homeShards: event.homeShards, error: String(error) });
        throw error;
      }
    },
    declareLimit: () => declareLimit(permits, maxWorkers, stores),
    async liveHolders() {
      const row = await readWhole(permits, stores.semaphores);
      return permitHolders(row === undefined ? undefined : await judgeSemaphore(row, env, stores));
    },
  };
}

interface PlanReport {
  readonly planned?: Planned;
  readonly started: number;
}

/** Logs a plan that wants more workers than are running, even if it may not start them. */
export function logPlan(logger: Telemetry['logger'], queue: string, { planned, started }: PlanReport): void {
  if (planned === undefined) return;
  const { wanted, live, starting, missing, ...why } = planned;
  if (wanted > live + starting || missing > 0)
    logger.info('workers planned', { queue, ...why, wanted, live, starting, started, missing });
}
