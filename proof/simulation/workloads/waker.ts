/** The shipped waker with a model of the table's stream: it receives inserted tasks a little later, a batch at a time. */
import type { WorkEvent } from '../../../shared/tasks/dispatch/dispatcher.ts';
import { workersSemaphore } from '../../../shared/tasks/dispatch/dispatcher.ts';
import { Waker } from '../../../shared/tasks/dispatch/wake.ts';
import { SemaphoreClient } from '../../../shared/coordination/semaphore/semaphore-client.ts';
import { StoreUnavailableError } from '../../../shared/core/errors.ts';
import type { FanOut } from '../fan-out.ts';
import { maxWorkersOf } from './chain.ts';
import type { WorkerPlace } from './worker-place.ts';
import { QUEUE, START_WITHIN_MS, storesAt } from './worker-place.ts';

export interface StreamReader {
  /** An inserted task has come through the stream. */
  readonly hear: (id: string) => void;
}

export function readStream(place: WorkerPlace, fanOut: FanOut, startWorker: (event: WorkEvent) => void): StreamReader {
  const { process, profile, seen } = place;
  const stores = storesAt(place);
  const { runtime } = process;
  const semaphores = new SemaphoreClient({ ...stores, runtime, gauge: place.gauge }, profile);
  const maxWorkers = maxWorkersOf(profile);
  const { shards, concurrency, maxClockSkewMs } = profile;
  const workers = {
    startWorker: (event: WorkEvent) => {
      startWorker(event);
      return Promise.resolve();
    },
    declareLimit: () => semaphores.declareLimit(workersSemaphore(QUEUE), maxWorkers),
  };
  const settings = { queue: QUEUE, shards, maxWorkers, concurrency, maxClockSkewMs, startWithinMs: START_WITHIN_MS };
  const onDamaged = (): void => seen('waker met a damaged row');
  const waker = new Waker({ ...stores, runtime, workers, onDamaged }, settings);
  const waiting: string[] = [];
  let isBusy = false;
  /** Lambda hands over what has gathered, and waits for the invocation before it hands over more. */
  const wake = async (): Promise<void> => {
    isBusy = true;
    while (waiting.length > 0) {
      const plan = fanOut.begin(process.name);
      try {
        const report = await waker.wake([...new Set(waiting.splice(0))]);
        seen(report.started > 0 ? 'wake started workers' : 'wake started none');
        plan.made(report);
      } catch (error) {
        // The stream would deliver again; the next tick finds tasks that are lost here.
        if (!(error instanceof StoreUnavailableError)) throw error;
        seen('waker: the store did not answer');
      }
    }
    isBusy = false;
  };
  return {
    hear(id) {
      waiting.push(id);
      if (!isBusy) process.deliver(() => void wake());
    },
  };
}
