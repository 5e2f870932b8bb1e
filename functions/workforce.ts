/** The workers of one queue, as the functions see them that start some: the dispatcher and the waker. */
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { Workforce } from '../shared/tasks/dispatch/dispatcher.ts';
import { workersSemaphore } from '../shared/tasks/dispatch/dispatcher.ts';
import { SemaphoreClient } from '../shared/coordination/semaphore/semaphore-client.ts';
import type { DispatchEnv } from './env.ts';
import type { Stores, Telemetry } from './runtime.ts';
import type { Starter } from './starter.ts';
import { createStarter } from './starter.ts';

/** A start without an answer must not take the time of the others; the log tells of each that failed. */
const START = { attempts: 2, requestTimeoutMs: 5_000 };

export function createLambdaStarter(): Starter {
  return createStarter({ InvokeCommand, LambdaClient }, START);
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
    countLive: async () => (await semaphores.get(workersSemaphore(queue)))?.live ?? 0,
  };
}
