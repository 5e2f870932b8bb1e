/** A redundant worker exits before it has written anything. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { IdleWorld } from '../../bench/idle-world.ts';
import { IDLE_QUEUE, openIdleWorld } from '../../bench/idle-world.ts';
import { reasonToLeave } from '../../functions/redundant-worker.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import { SemaphoreClient } from '../../shared/coordination/semaphore/semaphore-client.ts';
import { openHolder } from '../support/open-holder.ts';

const MAX_WORKERS = 2;
const TTL_MS = 30_000;
const timing = sessionTiming({ ttlMs: TTL_MS, lockDelayMs: 0 });
let idle: IdleWorld;

beforeEach(() => {
  idle = openIdleWorld();
});

/** Starts a worker with a permit; returns a function that makes it crash silently. */
async function startWorker(): Promise<() => void> {
  const { stores, runtime } = idle;
  const session = await openHolder({ timing, name: 'worker', node: 'test' }, { store: stores.sessions, runtime });
  const permits = new SemaphoreClient({ ...stores, runtime, gauge: noSkewGauge }, timing);
  await permits.tryAcquire(session, workersSemaphore(IDLE_QUEUE), { limit: MAX_WORKERS });
  return () => {
    session.markLost(new Error('it dies') as never);
  };
}

async function ask(maxWorkers = MAX_WORKERS) {
  const { stores, runtime } = idle.placeOf('started');
  const before = idle.meter.read();
  const { reason } = await reasonToLeave({ ...stores, runtime }, { queue: IDLE_QUEUE, maxWorkers, timing });
  const after = idle.meter.read();
  return { reason, requests: after.requests - before.requests, writeUnits: after.writeUnits - before.writeUnits };
}

describe('a start of a worker', () => {
  test('ends after two reads if all permits of its queue are taken', async () => {
    await idle.world.run(async () => {
      const deaths = [await startWorker(), await startWorker()];

      expect(await ask()).toEqual({ reason: 'others are at work, and the limit is 2', requests: 2, writeUnits: 0 });
      for (const die of deaths) die();
    });
  });

  test('ends after two reads if its queue is paused', async () => {
    await idle.world.run(async () => {
      const { queues } = idle.stores;
      await queues.change(IDLE_QUEUE, undefined, { isPaused: true, reason: 'test' }, stampOf(idle.runtime));

      expect(await ask()).toEqual({ reason: 'the queue is paused', requests: 2, writeUnits: 0 });
    });
  });

  test('continues if all permit holders have expired, because their capacity would stay taken', async () => {
    await idle.world.run(async () => {
      const deaths = [await startWorker(), await startWorker()];
      for (const die of deaths) die();
      await idle.clock.sleep(2 * TTL_MS + timing.maxClockSkewMs);

      expect((await ask()).reason).toBeUndefined();
    });
  });

  test('continues if the declared number of workers differs, so that the acquire refuses it', async () => {
    await idle.world.run(async () => {
      const deaths = [await startWorker(), await startWorker()];

      expect((await ask(MAX_WORKERS + 1)).reason).toBeUndefined();
      for (const die of deaths) die();
    });
  });
});
