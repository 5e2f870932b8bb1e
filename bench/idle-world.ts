/** A queue with a worker that stays, in simulated time: what `idle.ts` measures, and what tests judge. */
import type { Meter } from '../shared/dynamo/engine/meter.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import type { SendObserver } from '../shared/dynamo/engine/send.ts';
import { Sender } from '../shared/dynamo/engine/send.ts';
import type { Stores } from '../shared/client/stores.ts';
import { createStores } from '../shared/client/stores.ts';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { stampOf } from '../shared/core/lease/write.ts';
import { sessionTiming } from '../shared/core/lease/timing.ts';
import { TaskClient } from '../shared/tasks/queue/task-client.ts';
import type { Clock } from '../shared/core/runtime/clock.ts';
import type { Runtime } from '../shared/core/runtime/runtime.ts';
import { runWithSchedules } from '../shared/client/run-with-schedules.ts';
import { registerTasks } from '../shared/tasks/task/definition.ts';
import type { WorkerReport } from '../shared/tasks/worker/run-worker.ts';
import type { World } from './table.ts';
import { TABLE, simulatedWorld } from './table.ts';
import { silent } from '../shared/testing/silent-log.ts';
import { openHolder } from '../test/support/open-holder.ts';

export const IDLE_QUEUE = 'idle';
export const IDLE_SHARDS = 8;

export interface IdleWorld {
  readonly world: World;
  readonly clock: Clock;
  /** For enqueueing and operating, which is not metered. */
  readonly stores: Stores;
  readonly runtime: Runtime;
  readonly client: TaskClient;
  /** Everything that metered places sent. */
  readonly meter: Meter;
  /** Stores of a process whose requests are metered. */
  placeOf(name: string, observer?: SendObserver): MeteredPlace;
  /** As a dispatcher's tick would that has seen tasks in these lanes. */
  noteLanes(...lanes: string[]): Promise<void>;
  /** Runs until `handBack` aborts. */
  stand(definitions: Readonly<Record<string, unknown>>, handBack: AbortSignal): Promise<WorkerReport>;
}

interface MeteredPlace {
  readonly runtime: Runtime;
  readonly stores: Stores;
}

/** @param clientShards shards of the enqueuing clients; if more than the worker's, they are found once the queue's row counts them */
export function openIdleWorld({ clientShards = IDLE_SHARDS } = {}): IdleWorld {
  const world = simulatedWorld();
  const meter = createMeter();
  const user = world.placeOf('user');
  const { runtime } = user;
  const stores = createStores(new Sender(user), { table: TABLE, shards: clientShards });
  const placeOf: IdleWorld['placeOf'] = (name, observer) => {
    const place = world.placeOf(name);
    const both: SendObserver = {
      onAttempt(attempt) {
        meter.onAttempt(attempt);
        observer?.onAttempt(attempt);
      },
    };
    const sender = new Sender({ ...place, observer: both });
    return { runtime: place.runtime, stores: createStores(sender, { table: TABLE, shards: IDLE_SHARDS }) };
  };
  return {
    world,
    clock: runtime.clock,
    stores,
    runtime,
    meter,
    placeOf,
    client: new TaskClient({ store: stores.tasks, runtime }, { queue: IDLE_QUEUE }),
    async noteLanes(...lanes) {
      const observed = await stores.queues.get(IDLE_QUEUE);
      const use = { lanes: new Set(lanes), shards: clientShards };
      await stores.queues.noteUse(IDLE_QUEUE, observed, use, stampOf(runtime));
    },
    async stand(definitions, handBack) {
      const place = placeOf('standing worker');
      const timing = sessionTiming({ lockDelayMs: 0 });
      await using session = await openHolder(
        { timing, name: 'worker', node: 'bench' },
        { store: place.stores.sessions, runtime: place.runtime },
      );
      const ports = { ...place.stores, session, runtime: place.runtime, gauge: noSkewGauge, log: silent };
      const settings = {
        queue: IDLE_QUEUE,
        shards: IDLE_SHARDS,
        concurrency: 10,
        graceMs: 1_000,
        untilDrained: false,
      };
      return await runWithSchedules(registerTasks(definitions), ports, settings, handBack);
    },
  };
}
