/**
 * The waker function: a task that was just enqueued becomes a worker at once, where none is at work.
 *
 * The table's stream says that rows were inserted, no more. What there is to do is looked up as with any tick, so an event that is late, lost or
 * doubled changes when tasks run, not which; the schedule goes on as the safety net.
 * One look a second serves all who wake: whoever comes second waits for the next second, in which somebody looks who has seen his task.
 */
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import type { MiddyfiedHandler } from '@middy/core';
import middy from '@middy/core';
import type { DynamoDBStreamEvent } from 'aws-lambda';
import { wakeSchedule } from './env.ts';
import type { DispatchResult } from './ticker.ts';
import { createTicker } from './ticker.ts';

const SLOT_MS = 1_000;

export const handler: MiddyfiedHandler<DynamoDBStreamEvent, DispatchResult> = createWakeHandler();

function createWakeHandler(): MiddyfiedHandler<DynamoDBStreamEvent, DispatchResult> {
  const { queue, telemetry, clock, tick } = createTicker();
  const look = (by: string): Promise<DispatchResult> => {
    const second = clock.now() - (clock.now() % SLOT_MS);
    return tick({ schedule: wakeSchedule(queue), slot: new Date(second).toISOString() }, by);
  };
  return middy<DynamoDBStreamEvent, DispatchResult>({ timeoutEarlyInMillis: 0 })
    .use(injectLambdaContext(telemetry.logger))
    .use(logMetrics(telemetry.metrics))
    .handler(async (_event, { awsRequestId }) => {
      const first = await look(awsRequestId);
      // Somebody has looked already, perhaps too early; or the index is behind the stream, or the task is for later.
      if (!first.duplicate && first.backlog > 0) return first;
      await clock.sleep(SLOT_MS - (clock.now() % SLOT_MS));
      return look(awsRequestId);
    });
}
