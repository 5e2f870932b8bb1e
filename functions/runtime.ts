/** The composition root of the handlers: the only place where they get clients, clocks and stores. */
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { Tracer } from '@aws-lambda-powertools/tracer';
import { connectDynamo } from '../shared/dynamo/connect.ts';
import type { Meter } from '../shared/dynamo/meter.ts';
import { createQueueStore } from '../shared/dynamo/queue-store.ts';
import { createScheduleStore } from '../shared/dynamo/schedule-store.ts';
import { createSemaphoreStore } from '../shared/dynamo/semaphore-store.ts';
import { Sender } from '../shared/dynamo/send.ts';
import { createSessionStore } from '../shared/dynamo/session-store.ts';
import { createSlotStore } from '../shared/dynamo/slot-store.ts';
import { createTaskStore } from '../shared/dynamo/task-store.ts';
import type { DispatcherPorts } from '../shared/dispatch/dispatcher.ts';
import type { SkewGauge } from '../shared/lease/skew.ts';
import type { Runtime } from '../shared/runtime/runtime.ts';
import { systemRuntime } from '../shared/runtime/runtime.ts';
import type { SemaphoreStore } from '../shared/semaphore/store.ts';
import type { SessionStore } from '../shared/session/store.ts';
import type { QueueStore } from '../shared/task/queue-store.ts';
import type { ScheduleStore } from '../shared/task/schedule-store.ts';
import type { TaskStore } from '../shared/task/store.ts';
import type { QueueAddress } from './metric-names.ts';
import { METRICS_NAMESPACE, METRICS_SERVICE, metricDimensions } from './metric-names.ts';

/** Everything that reaches the table, over one client and its warm connections. Holds no identity, so it may outlive an invocation. */
export interface Stores {
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
  readonly semaphores: SemaphoreStore;
  readonly slots: DispatcherPorts['slots'];
  readonly queues: QueueStore;
  readonly schedules: ScheduleStore;
}

export interface Connection {
  readonly runtime: Runtime;
  /** Stores for one invocation, whose requests are counted by the meter. */
  open(meter: Meter): Stores;
}

export function connect(settings: {
  readonly table: string;
  readonly shards: number;
  readonly endpoint: string | undefined;
}): Connection {
  const { table, shards, endpoint } = settings;
  const runtime = systemRuntime;
  const { driver, gauge } = connectDynamo({ endpoint }, runtime);
  return {
    runtime,
    open(meter) {
      const sender = new Sender({ driver, runtime, observer: meter });
      return {
        runtime,
        gauge,
        tasks: createTaskStore(sender, { table, shards }),
        sessions: createSessionStore(sender, table),
        semaphores: createSemaphoreStore(sender, table),
        slots: createSlotStore(sender, table),
        queues: createQueueStore(sender, table),
        schedules: createScheduleStore(sender, table),
      };
    },
  };
}

export interface Telemetry {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

/** Powertools, as its users know it: levels, sampling and tracing are set by its own environment variables. */
export function createTelemetry(address: QueueAddress): Telemetry {
  return {
    logger: new Logger({ serviceName: METRICS_SERVICE }),
    metrics: new Metrics({
      namespace: METRICS_NAMESPACE,
      serviceName: METRICS_SERVICE,
      defaultDimensions: metricDimensions(address),
    }),
    tracer: new Tracer({ serviceName: METRICS_SERVICE }),
  };
}
