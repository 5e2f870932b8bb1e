/** The shipped dispatcher, for ticks that are delivered twice, late, or to a dispatcher that dies; and the schedule that recurs by it. */
import { dispatch, workersSemaphore } from '../../../shared/dispatch/dispatcher.ts';
import { StoreUnavailableError } from '../../../shared/errors.ts';
import { SemaphoreClient } from '../../../shared/semaphore/client.ts';
import { noSkewGauge } from '../../../shared/lease/skew.ts';
import { ScheduleClient } from '../../../shared/task/schedule-client.ts';
import { SCHEDULE } from '../invariants/dispatching.ts';
import type { Profile } from '../profile.ts';
import { maxWorkersOf } from './chain.ts';
import type { WorkerPlace } from './worker.ts';
import { QUEUE, storesAt } from './worker.ts';

/** One delivery of a tick. `startWorker` asks the platform for an invocation. */
export async function deliverTick(place: WorkerPlace, slot: string, startWorker: () => void): Promise<void> {
  const { process, profile, recorder, seen } = place;
  const stores = storesAt(place);
  const { runtime } = process;
  const semaphores = new SemaphoreClient({ ...stores, runtime, gauge: noSkewGauge }, profile);
  const name = workersSemaphore(QUEUE);
  const ports = {
    ...stores,
    runtime,
    workers: {
      startWorker: () => {
        startWorker();
        return Promise.resolve();
      },
      declareLimit: () => semaphores.declareLimit(name, maxWorkersOf(profile)),
      countLive: async () => (await semaphores.read(name))?.live ?? 0,
    },
    onDamaged: () => seen('dispatcher met a damaged row'),
  };
  const settings = { queue: QUEUE, shards: profile.shards, maxWorkers: maxWorkersOf(profile), tasksPerWorker: 10 };
  const tick = { schedule: 'tick', slot };
  try {
    // As a deployment does, again and again.
    if (place.prng.chance(0.2)) await define(new ScheduleClient({ ...stores, runtime }, { queue: QUEUE }), profile);
    const report = await dispatch(tick, process.name, ports, settings);
    seen(report.duplicate ? 'tick delivered again: nothing done' : 'tick dispatched');
    if (report.recurred > 0) seen('slots became tasks');
    if (report.duplicate || !process.isAlive) return;
    const row = `slot#${tick.schedule}#${slot}`;
    recorder.emit({ kind: 'acknowledged', at: process.now, process: process.name, what: 'dispatched', row });
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    seen('dispatcher: the store did not answer');
  }
}

async function define(schedules: ScheduleClient, { leap }: Profile): Promise<void> {
  const options = { cron: SCHEDULE.cron, missed: leap ? 'last' : 'all' } as const;
  await schedules.define(SCHEDULE.name, 'quick', { kind: 'quick', half: 0 }, options);
}
