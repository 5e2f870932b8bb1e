/** The shipped dispatcher, for ticks that are delivered twice, late, or to a dispatcher that dies; and the schedule that recurs by it. */
import { permitHolders } from '../../../shared/tasks/dispatch/live-workers.ts';
import type { WorkEvent } from '../../../shared/tasks/dispatch/dispatcher.ts';
import { dispatch, workersSemaphore } from '../../../shared/tasks/dispatch/dispatcher.ts';
import { StoreUnavailableError } from '../../../shared/core/errors.ts';
import { SemaphoreClient } from '../../../shared/coordination/semaphore/semaphore-client.ts';
import { ScheduleClient } from '../../../shared/tasks/schedule/schedule-client.ts';
import { SCHEDULE } from '../invariants/schedules.ts';
import type { FanOut } from '../fan-out.ts';
import type { Profile } from '../profile.ts';
import { maxWorkersOf } from './chain.ts';
import type { WorkerPlace } from './worker-place.ts';
import { QUEUE, START_WITHIN_MS, storesAt } from './worker-place.ts';

/** How often an invocation is tried again that has failed, as Lambda does, and when. */
const RETRY = { times: 2, afterMs: 1_000 };

interface TickDelivery {
  readonly scheduledTime: string;
  /** Whether occurrences of the schedule become tasks. */
  readonly recurs: boolean;
  /** Asks the platform for an invocation. */
  readonly startWorker: (event: WorkEvent) => void;
  /** Absent: its plans are not judged. */
  readonly fanOut?: FanOut;
}

/** One delivery of a tick. */
export async function deliverTick(
  place: WorkerPlace,
  { scheduledTime, recurs, startWorker, fanOut }: TickDelivery,
): Promise<void> {
  const { process, profile, recorder, seen } = place;
  const stores = storesAt(place);
  const { runtime } = process;
  const semaphores = new SemaphoreClient({ ...stores, runtime, gauge: place.gauge }, profile);
  const name = workersSemaphore(QUEUE);
  const ports = {
    ...stores,
    schedules: recurs ? stores.schedules : undefined,
    runtime,
    workers: {
      startWorker: (event: WorkEvent) => {
        startWorker(event);
        return Promise.resolve();
      },
      declareLimit: () => semaphores.declareLimit(name, maxWorkersOf(profile)),
      liveHolders: async () => permitHolders(await semaphores.get(name)),
    },
    onDamaged: () => seen('dispatcher met a damaged row'),
  };
  const { shards, concurrency, maxClockSkewMs } = profile;
  const maxWorkers = maxWorkersOf(profile);
  const settings = { queue: QUEUE, shards, maxWorkers, startWithinMs: START_WITHIN_MS, concurrency, maxClockSkewMs };
  const tick = { schedule: 'tick', scheduledTime };
  for (let attempt = 0; ; attempt++) {
    try {
      // As a deployment does, again and again.
      if (recurs && place.prng.chance(0.2))
        await define(new ScheduleClient({ ...stores, runtime }, { queue: QUEUE }), profile);
      const plan = fanOut?.begin(process.name);
      const report = await dispatch(tick, process.name, ports, settings);
      plan?.made(report);
      seen(report.duplicate ? 'tick delivered again: nothing done' : 'tick dispatched');
      if (attempt > 0 && !report.duplicate) seen('tick dispatched when it was tried again');
      if (report.recurred > 0) seen('occurrences became tasks');
      if (report.strays > 0) seen('tick met tasks in shards that workers do not have');
      if (report.duplicate || !process.isAlive) return;
      const row = `tick#${tick.schedule}#${scheduledTime}`;
      recorder.emit({ kind: 'acknowledged', at: process.now, process: process.name, what: 'dispatched', row });
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      seen('dispatcher: the store did not answer');
      if (attempt === RETRY.times) return;
      await runtime.clock.sleep(RETRY.afterMs);
    }
  }
}

async function define(schedules: ScheduleClient, { leap, overlap }: Profile): Promise<void> {
  const options = { cron: SCHEDULE.cron, missed: leap ? 'last' : 'all', overlap } as const;
  // Between its attempts, a retried task would let a rule weaker than a line begin the next one; a slow task exists to be stopped.
  const kind = overlap === 'queue' || overlap === 'skip' ? 'stumbles' : 'slow';
  await schedules.define(SCHEDULE.name, kind, { kind, half: 0 }, options);
}
