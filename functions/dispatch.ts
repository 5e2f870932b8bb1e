/** The dispatcher function: one tick of the schedule becomes as many workers as the backlog justifies. */
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import type { MiddyfiedHandler } from '@middy/core';
import middy from '@middy/core';
import type { Tick } from '../shared/dispatch/store.ts';
import { ConfigurationError } from '../shared/errors.ts';
import { validName } from '../shared/validate/name.ts';
import type { DispatchResult } from './ticker.ts';
import { createTicker } from './ticker.ts';

export type { DispatchResult } from './ticker.ts';

export const handler: MiddyfiedHandler<Tick, DispatchResult> = createDispatchHandler();

function createDispatchHandler(): MiddyfiedHandler<Tick, DispatchResult> {
  const { telemetry, tick } = createTicker();
  return middy<Tick, DispatchResult>({ timeoutEarlyInMillis: 0 })
    .use(injectLambdaContext(telemetry.logger))
    .use(logMetrics(telemetry.metrics))
    .handler((event, context) =>
      tick({ schedule: validName('schedule', event.schedule), slot: validSlot(event.slot) }, context.awsRequestId),
    );
}

/** The scheduler fills in the time that a tick was meant for. Text that it left as it is would make all ticks one. */
function validSlot(slot: unknown): string {
  const name = validName('slot', slot);
  if (name.includes('<aws.'))
    throw new ConfigurationError(
      `slot is ${JSON.stringify(name)}: the scheduler did not fill it in; no tick but the first would do anything`,
    );
  return name;
}
