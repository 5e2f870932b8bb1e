/** The composition root of the handlers: the only place where they get clients, clocks and stores. */
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { connectDynamo } from '../shared/dynamo/connect.ts';
import type { Meter } from '../shared/dynamo/engine/meter.ts';
import { Sender } from '../shared/dynamo/engine/send.ts';
import type { TaskStores } from '../shared/client/task-stores.ts';
import { createTaskStores } from '../shared/client/task-stores.ts';
import type { SkewGauge } from '../shared/core/lease/skew.ts';
import type { Runtime } from '../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import type { QueueAddress } from './metric-names.ts';
import { METRICS_NAMESPACE, METRICS_SERVICE, metricDimensions } from './metric-names.ts';

/** Everything that reaches the table, over one client and its warm connections. Holds no identity, so it may outlive an invocation. */
export interface Stores extends TaskStores {
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
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
      return { runtime, gauge, ...createTaskStores(sender, { table, shards }) };
    },
  };
}

export interface Telemetry {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Powertools, as its users know it: levels and sampling are set by its own environment variables. */
export function createTelemetry(address: QueueAddress): Telemetry {
  return {
    logger: new Logger({ serviceName: METRICS_SERVICE }),
    metrics: new Metrics({
      namespace: METRICS_NAMESPACE,
      serviceName: METRICS_SERVICE,
      defaultDimensions: metricDimensions(address),
    }),
  };
}
