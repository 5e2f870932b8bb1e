/** The workers of one queue, as the functions see them that start some: the dispatcher and the waker. */
import type { Planned } from '../shared/tasks/dispatch/planning.ts';
import type { Workforce } from '../shared/tasks/dispatch/dispatcher.ts';
import { workersSemaphore } from '../shared/tasks/dispatch/dispatcher.ts';
import { permitHolders } from '../shared/tasks/dispatch/live-workers.ts';
import { SemaphoreClient } from '../shared/coordination/semaphore/semaphore-client.ts';
import type { DispatchEnv } from './env.ts';
import type { Stores, Telemetry } from './runtime.ts';
import type { Starter } from './starter.ts';
import { createStarter } from './starter.ts';

/** A start without an answer must not take the time of the others; the log tells of each that failed. */
const START = { attempts: 2, requestTimeoutMs: 5_000 };

export function createLambdaStarter(): Starter {
  return createStarter(START);
}

export function workforceOf(
  env: DispatchEnv,
  {
    stores,
    starter,
    logger,
  }: { readonly stores: Stores; readonly starter: Starter; readonly logger: Telemetry['logger'] },
): Workforce {
  const { queue, workerFunction, maxWorkers } = env;
  const semaphores = new SemaphoreClient(stores, env);
  return {
    async startWorker(event) {
      try {
        await starter.start(workerFunction, event);
      } catch (error) {
        logger.error('worker not started', { queue, homeShards: event.homeShards, error: String(error) });
        throw error;
      }
    },
    declareLimit: () => semaphores.declareLimit(workersSemaphore(queue), maxWorkers),
    liveHolders: async () => permitHolders(await semaphores.get(workersSemaphore(queue))),
  };
}

interface PlanReport {
  readonly planned?: Planned;
  readonly started: number;
}

/** Logs a plan that wants more workers than there are, whether or not it may start them. */
export function logPlan(logger: Telemetry['logger'], queue: string, { planned, started }: PlanReport): void {
  if (planned === undefined) return;
  const { wanted, live, starting, missing, ...why } = planned;
  if (wanted > live + starting || missing > 0)
    logger.info('workers planned', { queue, ...why, wanted, live, starting, started, missing });
}
