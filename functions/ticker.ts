/** What the functions share that start workers: each call looks at the backlog once, and starts those that are missing. */
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { DispatchReport, WorkEvent } from '../shared/dispatch/dispatcher.ts';
import { dispatch, workersSemaphore } from '../shared/dispatch/dispatcher.ts';
import type { Tick } from '../shared/dispatch/store.ts';
import type { MeterReading } from '../shared/dynamo/engine/meter.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import { SemaphoreClient } from '../shared/semaphore/client.ts';
import { openTelemetry } from '../shared/tracing/open-telemetry.ts';
import { TaskSpans } from '../shared/tracing/task-spans.ts';
import { parseDispatchEnv } from './env.ts';
import { METRIC } from './metric-names.ts';
import type { Telemetry } from './runtime.ts';
import { connect, createTelemetry } from './runtime.ts';
import { createStarter } from './starter.ts';

/** A start that is not answered must not take the time of the others, which are told of in the log of this tick. */
const START = { attempts: 2, requestTimeoutMs: 5_000 };

export type DispatchResult = DispatchReport & { readonly capacity: MeterReading };

export interface Ticker {
  readonly queue: string;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** @param by the invocation that asks */
  readonly tick: (tick: Tick, by: string) => Promise<DispatchResult>;
}

export function createTicker(): Ticker {
  const env = parseDispatchEnv();
  const connection = connect(env);
  const telemetry = createTelemetry(env);
  const spans = new TaskSpans(openTelemetry);
  const starter = createStarter({ InvokeCommand, LambdaClient }, START);
  const startWorker = async (event: WorkEvent): Promise<void> => {
    try {
      await starter.start(env.workerFunction, event);
    } catch (error) {
      telemetry.logger.error('worker not started', { homeShards: event.homeShards, error: String(error) });
      throw error;
    }
  };
  const onDamaged = (error: unknown): void => {
    telemetry.logger.error('row skipped', { error: String(error) });
  };
  return {
    ...{ queue: env.queue, telemetry, clock: connection.runtime.clock },
    async tick(tick, by) {
      const meter = createMeter();
      const stores = connection.open(meter);
      const semaphores = new SemaphoreClient(stores, env);
      const workers = {
        startWorker,
        declareLimit: () => semaphores.declareLimit(workersSemaphore(env.queue), env.maxWorkers),
        countLive: async () => (await semaphores.read(workersSemaphore(env.queue)))?.live ?? 0,
      };
      const report = await dispatch(tick, by, { ...stores, workers, onDamaged, spans }, env);
      const capacity = meter.read();
      reportMetrics(telemetry, report, capacity);
      telemetry.logger.info('tick dispatched', { ...tick, report, capacity });
      const { shards, strays } = report;
      if (strays > 0) telemetry.logger.warn('tasks in shards that are not deployed', { strays, shards });
      ensureStarted(report);
      return { ...report, capacity };
    },
  };
}

/**
 * A dispatcher that can start no worker has failed, and its errors are what the alarm counts.
 * Lambda tries its invocation again, which goes on with the slot that it took; then the next tick tries anew.
 */
function ensureStarted({ started, failedStarts }: DispatchReport): void {
  if (failedStarts > 0 && started === 0)
    throw new Error(`none of ${failedStarts} workers could be started: the log says of each why`);
}

function reportMetrics({ metrics }: Telemetry, report: DispatchReport, capacity: MeterReading): void {
  if (report.duplicate) {
    metrics.addMetric(METRIC.ticksDuplicated, MetricUnit.Count, 1);
    return;
  }
  metrics.addMetric(METRIC.backlogSize, MetricUnit.Count, report.backlog);
  metrics.addMetric(METRIC.oldestReadyTaskAgeMs, MetricUnit.Milliseconds, report.oldestReadyAgeMs);
  metrics.addMetric(METRIC.workersLive, MetricUnit.Count, report.liveWorkers);
  metrics.addMetric(METRIC.workersInvoked, MetricUnit.Count, report.started);
  metrics.addMetric(METRIC.rowsSkipped, MetricUnit.Count, report.damaged);
  metrics.addMetric(METRIC.storeThrottled, MetricUnit.Count, capacity.throttled);
}
