/**
 * The waker function: reads inserted task rows from the table's stream, and starts workers for their queues.
 *
 * One function serves all queues of a table that use it.
 * Lambda reads each shard of the stream with one invocation at a time, in batches,
 * so the cost is bounded by the stream's shards and not by the number of producers.
 * A late, lost or duplicate event changes when tasks run, not which tasks run: see `shared/tasks/dispatch/wake.ts`.
 */
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { MiddyfiedHandler } from '@middy/core';
import middy from '@middy/core';
import type { DynamoDBStreamEvent } from 'aws-lambda';
import { insertedTasks } from '../shared/dynamo/inserted.ts';
import type { WakeReport } from '../shared/tasks/dispatch/wake.ts';
import { Waker } from '../shared/tasks/dispatch/wake.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import type { DispatchEnv } from './env.ts';
import { parseWakeEnv } from './env.ts';
import { METRIC } from './metric-names.ts';
import type { Telemetry } from './runtime.ts';
import { connect, createTelemetry } from './runtime.ts';
import { createWakerStores } from '../shared/client/dispatch-stores.ts';
import { createLambdaStarter, logPlan, workforceOf } from './workforce.ts';

/** The result of the wake for each queue. A queue whose wake failed is missing, and the log has the reason. */
type WakeResult = Readonly<Record<string, WakeReport>>;

export const handler: MiddyfiedHandler<DynamoDBStreamEvent, WakeResult> = createWakeHandler();

interface WokenQueue {
  readonly waker: Waker;
  readonly metrics: Telemetry['metrics'];
}

function createWakeHandler(): MiddyfiedHandler<DynamoDBStreamEvent, WakeResult> {
  const env = parseWakeEnv();
  const [first] = env.queues;
  const { logger } = createTelemetry(first);
  const starter = createLambdaStarter();
  // All queues belong to one table.
  const stores = connect(first, createWakerStores).open(createMeter());
  const open = (queue: DispatchEnv): WokenQueue => {
    const { metrics } = createTelemetry(queue);
    const workers = workforceOf(queue, { stores, starter, logger });
    const onDamaged = (error: unknown): void => {
      metrics.addMetric(METRIC.rowsSkipped, MetricUnit.Count, 1);
      logger.error('row skipped', { queue: queue.queue, error: String(error) });
    };
    return { metrics, waker: new Waker({ ...stores, workers, onDamaged }, queue) };
  };
  const queues = new Map(env.queues.map((queue) => [queue.queue, open(queue)]));

  return middy<DynamoDBStreamEvent, WakeResult>({ timeoutEarlyInMillis: 0 })
    .use(injectLambdaContext(logger))
    .handler(async (event) => {
      const wake = async ([name, ids]: [string, readonly string[]]): Promise<[string, WakeReport][]> => {
        const queue = queues.get(name);
        if (queue === undefined) return [];
        try {
          const report = await queue.waker.wake(ids);
          const { started, failedStarts } = report;
          const missing = report.planned?.missing ?? 0;
          if (missing > 0) queue.metrics.addMetric(METRIC.workersMissing, MetricUnit.Count, missing);
          if (started > 0) queue.metrics.addMetric(METRIC.workersInvoked, MetricUnit.Count, started);
          // In a busy queue, four wakes a second and shard start nothing.
          logPlan(logger, name, report);
          const level = started + failedStarts > 0 ? 'info' : 'debug';
          const { reason } = report;
          logger[level]('queue woken', { queue: name, inserted: ids.length, started, failedStarts, reason });
          return [[name, report]];
        } finally {
          if (queue.metrics.hasStoredMetrics()) queue.metrics.publishStoredMetrics();
        }
      };
      const woken = await Promise.allSettled([...insertedTasks(event.Records)].map(wake));
      const failures = woken.filter((outcome) => outcome.status === 'rejected');
      for (const { reason } of failures) logger.error('wake failed', { error: String(reason) });
      // A failed queue does not delay the others. If all have failed, Lambda delivers these records again.
      if (failures.length > 0 && failures.length === woken.length) throw failures[0]?.reason;
      return Object.fromEntries(woken.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : [])));
    });
}
