/** The dispatcher function: at each tick of the schedule, starts as many workers as the backlog justifies. */
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import type { MiddyfiedHandler } from '@middy/core';
import middy from '@middy/core';
import type { DispatchReport } from '../shared/tasks/dispatch/dispatcher.ts';
import { dispatch } from '../shared/tasks/dispatch/dispatcher.ts';
import type { Tick } from '../shared/tasks/dispatch/tick-store.ts';
import type { MeterReading } from '../shared/dynamo/engine/meter.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import { ConfigurationError, messageOf } from '../shared/core/errors.ts';
import type { DefinePorts } from '../shared/tasks/schedule/schedule-client.ts';
import { defineSchedules } from '../shared/tasks/schedule/schedule-client.ts';
import type { ScheduleDefinition } from '../shared/tasks/schedule/schedule.ts';
import { openTelemetry } from '../shared/tasks/tracing/open-telemetry.ts';
import { TaskSpans } from '../shared/tasks/tracing/task-spans.ts';
import { validName } from '../shared/core/validate/options.ts';
import { switchFinishedList } from '../shared/tasks/task/finished-list.ts';
import type { QueueStore } from '../shared/tasks/task/queue-store.ts';
import { parseDispatchEnv } from './env.ts';
import type { MetricName } from './metric-names.ts';
import { METRIC } from './metric-names.ts';
import { createDispatchStores } from '../shared/client/dispatch-stores.ts';
import type { Telemetry } from './runtime.ts';
import { connect, createTelemetry } from './runtime.ts';
import { createLambdaStarter, logPlan, workforceOf } from './workforce.ts';

type DispatchResult = DispatchReport & { readonly capacity: MeterReading };

export const handler: MiddyfiedHandler<Tick, DispatchResult> = createDispatchHandler();

function createDispatchHandler(): MiddyfiedHandler<Tick, DispatchResult> {
  const env = parseDispatchEnv();
  const connection = connect(env, createDispatchStores);
  const telemetry = createTelemetry(env);
  const { logger } = telemetry;
  const starter = createLambdaStarter();
  const spans = new TaskSpans(openTelemetry);
  const onDamaged = (error: unknown): void => logger.error('row skipped', { error: String(error) });
  let isDefined = env.schedules.length === 0;
  /** Once per process, and so with each deployment. A failed definition is retried at the next tick. */
  const onEnded = ({ name, endAt }: ScheduleDefinition): void =>
    logger.info('schedule has ended', { schedule: name, endAt });
  const defineOnce = async (stores: Omit<DefinePorts, 'queue'>): Promise<Error | undefined> => {
    if (isDefined) return undefined;
    try {
      await defineSchedules({ ...stores, queue: env.queue, onEnded }, env.schedules);
      isDefined = true;
      return undefined;
    } catch (error) {
      logger.error('schedules not defined', { error: messageOf(error) });
      return error instanceof Error ? error : new Error(messageOf(error));
    }
  };
  let isListSwitched = false;
  const switchListOnce = async (queues: QueueStore): Promise<void> => {
    if (isListSwitched) return;
    await switchFinishedList(env.queue, env.listFinished, { queues, runtime: connection.runtime });
    isListSwitched = true;
  };
  return middy<Tick, DispatchResult>({ timeoutEarlyInMillis: 0 })
    .use(injectLambdaContext(logger))
    .use(logMetrics(telemetry.metrics))
    .handler(async (event, { awsRequestId }) => {
      const tick = {
        schedule: validName('schedule', event.schedule),
        scheduledTime: validScheduledTime(event.scheduledTime),
      };
      const meter = createMeter();
      const stores = connection.open(meter);
      const notDefined = await defineOnce(stores);
      await switchListOnce(stores.queues);
      const workers = workforceOf(env, { stores, starter, logger });
      const report = await dispatch(tick, awsRequestId, { ...stores, workers, onDamaged, spans }, env);
      const capacity = meter.read();
      reportMetrics(telemetry, report, capacity);
      logPlan(logger, env.queue, report);
      logger.info('tick dispatched', { ...tick, report, capacity });
      const { shards, strays } = report;
      if (strays > 0) logger.warn('tasks found in undeployed shards', { strays, shards });
      ensureStarted(report);
      // The alarm counts errors. Lambda retries this invocation, which then finds its own tick.
      if (notDefined !== undefined) throw notDefined;
      return { ...report, capacity };
    });
}

/** The scheduler replaces this text with the tick's intended time. Unreplaced text would make all ticks one. */
function validScheduledTime(scheduledTime: unknown): string {
  const name = validName('scheduledTime', scheduledTime);
  if (name.includes('<aws.'))
    throw new ConfigurationError(
      `scheduledTime is ${JSON.stringify(name)}: the scheduler did not fill it in, so only the first tick would do anything`,
    );
  return name;
}

/**
 * A dispatcher that can start no worker has failed, and the alarm counts its errors.
 * Lambda retries the invocation, which continues with its tick; then the next tick tries again.
 */
function ensureStarted({ started, failedStarts }: DispatchReport): void {
  if (failedStarts > 0 && started === 0)
    throw new Error(`none of ${failedStarts} workers could be started: see the log for each reason`);
}

function reportMetrics({ metrics }: Telemetry, report: DispatchReport, capacity: MeterReading): void {
  if (report.duplicate) {
    metrics.addMetric(METRIC.ticksDuplicated, MetricUnit.Count, 1);
    return;
  }
  // Sent at every tick, even if zero, because an alarm fires if it is missing.
  metrics.addMetric(METRIC.oldestReadyTaskAgeMs, MetricUnit.Milliseconds, report.oldestReadyAgeMs);
  const count = (name: MetricName, value: number): void => {
    if (value > 0) metrics.addMetric(name, MetricUnit.Count, value);
  };
  count(METRIC.backlogSize, report.backlog);
  count(METRIC.workersLive, report.liveWorkers);
  count(METRIC.workersMissing, report.planned?.missing ?? 0);
  count(METRIC.workersInvoked, report.started);
  count(METRIC.rowsSkipped, report.damaged);
  count(METRIC.storeThrottled, capacity.throttled);
}
