/** The composition root of the handlers: the only place where they get clients, clocks and stores. */
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { ConnectionOptions } from '../shared/dynamo/connect.ts';
import { connectDynamo } from '../shared/dynamo/connect.ts';
import type { Meter } from '../shared/dynamo/engine/meter.ts';
import type { SendObserver } from '../shared/dynamo/engine/send.ts';
import { grantFor } from '../shared/dynamo/engine/grant-for.ts';
import { Sender } from '../shared/dynamo/engine/send.ts';
import type { TaskStoreOptions } from '../shared/tasks/rows/task/adding-store.ts';
import type { SkewGauge } from '../shared/core/lease/skew.ts';
import type { Runtime } from '../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import { throttleLog } from './throttle-log.ts';
import type { QueueAddress } from './metric-names.ts';
import { METRICS_NAMESPACE, METRICS_SERVICE, metricDimensions } from './metric-names.ts';

/** Stores over one client and its warm connections, with runtime and gauge. Holds no identity, so it may outlive an invocation. */
export type Connected<Stores> = Stores & {
  readonly sender: Sender;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
};

interface FunctionConnection<Stores> {
  readonly runtime: Runtime;
  /** Stores for one invocation, whose requests are counted by the meter. */
  open(meter: Meter): Connected<Stores>;
}

/** @param createStores the stores that the function needs: the others stay out of its bundle */
export function connect<Stores>(
  settings: TaskStoreOptions & Pick<ConnectionOptions, 'endpoint' | 'client'>,
  createStores: (sender: Sender, options: TaskStoreOptions) => Stores,
): FunctionConnection<Stores> {
  const { table, shards, endpoint, client } = settings;
  const runtime = systemRuntime;
  const { driver, gauge } = connectDynamo({ endpoint, client }, runtime);
  const throttles = throttleLog(new Logger({ serviceName: METRICS_SERVICE }), runtime.clock);
  return {
    runtime,
    open(meter) {
      const observer: SendObserver = {
        onAttempt: (attempt) => {
          meter.onAttempt(attempt);
          throttles.onAttempt(attempt);
        },
      };
      const sender = new Sender({ driver, runtime, observer, grantFor });
      return { sender, runtime, gauge, ...createStores(sender, { table, shards }) };
    },
  };
}

export interface Telemetry {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Powertools as usual: its own environment variables set levels and sampling. */
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
