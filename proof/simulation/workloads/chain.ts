/**
 * A worker's environment in its function: the delivery of its start,
 * a permit of its queue, and the successor that it starts when its time is over.
 */
import { hasTasksLeft, isFirstDelivery, leftNothing } from '../../../functions/continuation.ts';
import { continuationSchedule } from '../../../functions/env.ts';
import { workersSemaphore } from '../../../shared/tasks/dispatch/dispatcher.ts';
import { tickKey } from '../../../shared/dynamo/engine/keys.ts';
import { MismatchError } from '../../../shared/core/errors.ts';
import { SemaphoreClient } from '../../../shared/coordination/semaphore/semaphore-client.ts';
import type { SessionHolder } from '../../../shared/session/keep-alive.ts';
import type { WorkerReport } from '../../../shared/tasks/worker/run-worker.ts';
import type { Invocation } from '../fleet.ts';
import type { Profile } from '../profile.ts';
import type { WorkerPlace } from './worker-place.ts';
import { QUEUE, storesAt } from './worker-place.ts';

/** Fewer than there are environments, so that some are not needed. */
export function maxWorkersOf({ environments, chains }: Profile): number {
  return chains ? Math.max(1, environments - 1) : environments;
}

/** Works if this delivery is the first one and there is capacity, and continues in a successor. @returns how the worker ended */
export async function workInChain(
  place: WorkerPlace,
  session: SessionHolder,
  { after }: Invocation,
  run: () => Promise<WorkerReport>,
): Promise<string> {
  const { process, profile, recorder, seen } = place;
  if (!profile.chains) return (await run()).ended;
  const { runtime } = process;
  const stores = storesAt(place);
  if (after !== undefined) {
    const event = { queue: QUEUE, homeShards: [], after };
    if (!(await isFirstDelivery(event, process.name, { ticks: stores.ticks, runtime }))) {
      seen('successor delivered again: nothing done');
      return 'not needed';
    }
    seen('successor goes on');
    const row = tickKey(continuationSchedule(QUEUE), after).pk;
    recorder.emit({ kind: 'acknowledged', at: process.now, process: process.name, what: 'dispatched', row });
  }
  const semaphores = new SemaphoreClient({ ...stores, runtime, gauge: place.gauge }, profile);
  const limit = maxWorkersOf(profile);
  const permit = await semaphores.tryAcquire(session, workersSemaphore(QUEUE), { limit }).catch(mismatchOf);
  if (permit instanceof MismatchError || permit.kind === 'full') {
    seen('worker not needed');
    return 'not needed';
  }
  const report = await run();
  // An unconfirmed release does not fail the work: the permit ends with the session.
  const released = await permit.permit.release().catch(() => {
    seen('worker: permit not released');
    return false;
  });
  if (hasTasksLeft(report)) place.startSuccessor(session.id);
  await session.end({ holdsNothing: released && leftNothing(report) });
  return report.ended;
}

function mismatchOf(error: unknown): MismatchError {
  if (error instanceof MismatchError) return error;
  throw error;
}
