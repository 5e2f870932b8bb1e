/**
 * The worker function. Each invocation has one session and one permit, and runs as many tasks as fit into its time.
 * It does not depend on whether it runs in AWS or on a laptop.
 */
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import type { MiddlewareObj, MiddyfiedHandler } from '@middy/core';
import middy from '@middy/core';
import type { WorkEvent } from '../shared/tasks/dispatch/dispatcher.ts';
import type { Meter, MeterReading } from '../shared/dynamo/engine/meter.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import { ConfigurationError, MismatchError, assert } from '../shared/core/errors.ts';
import { workerName } from '../shared/tasks/dispatch/live-workers.ts';
import type { SessionEvents } from '../shared/session/keep-alive.ts';
import { describeBlock } from '../shared/session/event-loop-lag.ts';
import { tryFleetPermit } from '../shared/coordination/semaphore/acquire.ts';
import type { SemaphoreRecord } from '../shared/coordination/semaphore/semaphore.ts';
import type { TaskEvents } from '../shared/tasks/run/events.ts';
import type { TaskMiddleware } from '../shared/tasks/task/middleware.ts';
import type { SdkClient } from '../shared/dynamo/wire/sdk.ts';
import type { PayloadStore } from '../shared/tasks/task/payload.ts';
import { toldToAll, taskModuleOf } from '../shared/tasks/run/task-module.ts';
import { openTelemetry } from '../shared/tasks/tracing/open-telemetry.ts';
import { TaskSpans } from '../shared/tasks/tracing/task-spans.ts';
import type { WorkerReport } from '../shared/tasks/worker/run-worker.ts';
import { SHORT_WAIT_MS } from '../shared/tasks/worker/stay.ts';
import { runWorker } from '../shared/tasks/worker/run-worker.ts';
import { hasTasksLeft, isFirstDelivery, leftNothing, startSuccessor, successorOf } from './continuation.ts';
import type { WorkEnv } from './env.ts';
import { reasonToLeave } from './redundant-worker.ts';
import { MAX_SHARDS, parseWorkEnv } from './env.ts';
import { deadline, deadlineOf } from './middleware/deadline.ts';
import { invocationSession, sessionOf } from './middleware/invocation-session.ts';
import type { WorkerClient } from '../shared/client/leasehold-of.ts';
import type { TaskStores } from '../shared/client/task-stores.ts';
import { createTaskStores } from '../shared/client/task-stores.ts';
import type { Connected, Telemetry } from './runtime.ts';
import { connect, createTelemetry } from './runtime.ts';
import { TaskTimeMetrics } from './task-times.ts';
import { WorkerMetrics, isNew, writeThrottles } from './worker-metrics.ts';
import type { Context } from './middleware/lambda-context.ts';

export type WorkResult =
  | { readonly permit: true; readonly session: string; readonly report: WorkerReport; readonly capacity: MeterReading }
  /**
   * `maxWorkers` other workers are running, or that number is being changed,
   * or the queue is paused. In most of these cases the worker exits before it opens a session.
   */
  | { readonly permit: false; readonly session?: string; readonly capacity: MeterReading };

export interface WorkHandlerOptions {
  /** Middleware around every attempt, first one outermost, nested inside the middleware that the task module exports. */
  readonly middleware?: readonly TaskMiddleware[];
  /** Called after the handlers that the module exports as `events`. */
  readonly events?: TaskEvents;
  /** Your DynamoDB client, which then sends all requests, like that of `createLeasehold`. */
  readonly client?: SdkClient;
  /** Store for inputs that do not fit into the table. Default: the task module's export `payloads`, if any. */
  readonly payloads?: PayloadStore;
}

/** Maximum number of rows that are read before the first poll. */
const MAX_NAMED = 25;
/** Poll interval of an empty backlog while tasks run, one shard at a time. It is long, because new tasks start other workers. */
const POLL_MS = 1_250;
/** The part of the deadline margin in which task code may still stop by itself; the rest is for handing back and ending the session. */
const GRACE_SHARE = 0.4;

/**
 * Creates the handler for a set of tasks.
 * @param taskExports the exports of the module that defines them: `import * as tasks from './tasks.ts'`
 * @throws ConfigurationError at load, so that a wrong deployment fails its first invocation with the reason
 */
export function createWorkHandler(
  taskExports: Readonly<Record<string, unknown>>,
  options: WorkHandlerOptions = {},
): MiddyfiedHandler<WorkEvent, WorkResult> {
  const env = parseWorkEnv();
  const { registry, events, payloads } = taskModuleOf(taskExports, options);
  const connection = connect({ ...env, client: options.client }, createTaskStores);
  const telemetry = createTelemetry(env);
  telemetry.logger.appendPersistentKeys({ queue: env.queue });
  const spans = new TaskSpans(openTelemetry, env.attemptSpans);
  const unknownNames = env.timedNames.filter((name) => !registry.has(name));
  if (unknownNames.length > 0) telemetry.logger.warn('timedNames without a task', { names: unknownNames });
  const invocations = new WeakMap<Context, Invocation>();
  const permitsSeen = new WeakMap<Context, readonly SemaphoreRecord[]>();
  const invocationOf = (context: Context): Invocation => {
    const found = invocations.get(context);
    assert(found !== undefined, 'the invocation was not opened');
    return found;
  };
  const openInvocation: MiddlewareObj = {
    name: 'openInvocation',
    before: ({ context }) => {
      const meter = createMeter();
      const times = new TaskTimeMetrics(createTelemetry(env).metrics, env.timedNames);
      const metrics = new WorkerMetrics(telemetry.metrics, times, meter, connection.runtime.clock);
      invocations.set(context, { meter, metrics, times, stores: connection.open(meter) });
    },
    after: ({ context }) => invocations.get(context)?.metrics[Symbol.dispose](),
    onError: ({ context }) => invocations.get(context)?.metrics[Symbol.dispose](),
  };

  const leaveIfSurplus: MiddlewareObj<WorkEvent, WorkResult> = {
    name: 'leaveIfSurplus',
    before: async ({ context }) => {
      const meter = createMeter();
      // Counted also if it fails: a throttled table may be the reason.
      const { reason, parts } = await reasonToLeave(connection.open(meter), env).finally(() => {
        writeThrottles(telemetry.metrics, meter);
      });
      if (reason === undefined) {
        permitsSeen.set(context, parts);
        return undefined;
      }
      const capacity = meter.read();
      telemetry.logger.info('worker not needed', { reason, capacity });
      return { permit: false, capacity };
    },
  };

  return (
    middy<WorkEvent, WorkResult>({ timeoutEarlyInMillis: 0 })
      .use(injectLambdaContext(telemetry.logger))
      // Before everything that must be cleaned up, because an early response skips the others.
      .use(leaveIfSurplus)
      .use(deadline({ marginMs: env.deadlineMarginMs, clock: connection.runtime.clock }))
      .use(openInvocation)
      .use(
        invocationSession({
          name: workerName(env.queue),
          timing: env.timing,
          codeVersion: env.codeVersion,
          portsOf: (context) => ({
            ...invocationOf(context).stores,
            events: sessionLog(telemetry.logger, invocationOf(context)),
            onNotOpened: (error) => telemetry.logger.error('session not opened', { error: String(error) }),
          }),
        }),
      )
      .handler(async (event, context) => {
        const { meter, metrics, times, stores } = invocationOf(context);
        const session = sessionOf(context);
        const homeShards = validHomeShards(event, env);
        const notNeeded = (reason: string): WorkResult => {
          const capacity = meter.read();
          telemetry.logger.info('worker not needed', { session: session.id, reason, capacity });
          return { permit: false, session: session.id, capacity };
        };
        if (!(await isFirstDelivery(event, context.awsRequestId, stores)))
          return notNeeded('its start was delivered before');
        const limit = env.maxWorkers;
        const permit = await tryFleetPermit(env.queue, { limit }, session, stores, permitsSeen.get(context)).catch(
          mismatchOf,
        );
        // A deployment is changing `maxWorkers`. The next tick of its dispatcher puts the new number into effect.
        if (permit instanceof MismatchError) return notNeeded(permit.message);
        if (permit.kind === 'full') return notNeeded(`others are at work, and the limit is ${env.maxWorkers}`);
        const { signal, monotonicMs } = deadlineOf(context);
        const settings = {
          queue: env.queue,
          shards: env.shards,
          homeShards,
          slice: validSlice(event),
          named: validNamed(event),
          concurrency: env.concurrency,
          logEnds: env.logEnds,
          pollMs: POLL_MS,
          hasDispatcher: true,
          lingerMs: env.lingerMs,
          stays: event.stays === true,
          shortWaitMs: SHORT_WAIT_MS,
          startWithinMs: env.startWithinMs,
          graceMs: env.deadlineMarginMs * GRACE_SHARE,
          deadlineMonotonicMs: monotonicMs,
        };
        telemetry.logger.info('worker started', { session: session.id, homeShards });
        const report = await runWorker(
          registry,
          {
            ...stores,
            session,
            log: telemetry.logger,
            events: toldToAll([...(events === undefined ? [] : [events]), newTasksTo(metrics)]),
            payloads,
            client: clientOf(stores, { ...env, payloads }),
            spans,
            onCounted: (what, count) => metrics.count(what, count),
            onTimed: (name, time) => times.record(name, time),
          },
          settings,
          signal,
        );
        // An unconfirmed release does not fail the work: the session's end releases the permit.
        const released = await permit.permit.release().catch((error: unknown) => {
          telemetry.logger.warn('permit not released', { error: String(error) });
          return false;
        });
        const successor = successorOf(event, homeShards, session.id);
        if (env.continuation && hasTasksLeft(report) && successor !== undefined)
          await startSuccessor(context.functionName, successor).catch((error: unknown) =>
            telemetry.logger.warn('successor not started', { error: String(error) }),
          );
        await session.end({ holdsNothing: released && leftNothing(report) });
        const capacity = meter.read();
        telemetry.logger.info('worker ended', { session: session.id, report, capacity });
        return { permit: true, session: session.id, report, capacity };
      })
  );
}

/** The objects behind `leaseholdOf`. */
function clientOf(
  { sender, gauge, runtime }: Connected<TaskStores>,
  { table, queue, shards, timing, payloads }: WorkEnv & { readonly payloads: PayloadStore | undefined },
): WorkerClient {
  const settings = { table, queue, shards, maxClockSkew: timing.maxClockSkewMs, payloads };
  return { foundation: { sender, gauge, runtime }, settings };
}

function newTasksTo(metrics: WorkerMetrics): TaskEvents {
  return {
    onClaimed: (task) => {
      if (isNew(task)) metrics.count('new', 1);
    },
  };
}

function mismatchOf(error: unknown): MismatchError {
  if (error instanceof MismatchError) return error;
  throw error;
}

interface Invocation {
  readonly meter: Meter;
  readonly metrics: WorkerMetrics;
  readonly times: TaskTimeMetrics;
  readonly stores: Connected<TaskStores>;
}

/** A forged event can at most make a worker begin in other shards. */
function validSlice({ slice }: WorkEvent): WorkEvent['slice'] {
  if (typeof slice !== 'object') return undefined;
  const { nth, of } = slice;
  return Number.isInteger(nth) && Number.isInteger(of) && 0 <= nth && nth < of ? { nth, of } : undefined;
}

/**
 * The event may name shards that this deployment does not know: clients can use more.
 * A forged or outdated event can at most make a worker begin in other shards.
 */
function validHomeShards(event: WorkEvent, env: WorkEnv): readonly number[] {
  const { queue, homeShards } = event;
  if (queue !== env.queue)
    throw new ConfigurationError(
      `this worker serves queue ${env.queue}, and was asked to work on ${JSON.stringify(queue)}`,
    );
  const named: readonly number[] = Array.isArray(homeShards)
    ? (homeShards as readonly number[]).filter((shard) => Number.isInteger(shard) && 0 <= shard && shard < MAX_SHARDS)
    : [];
  return named.length > 0 ? [...new Set(named)] : Array.from({ length: env.shards }, (_, shard) => shard);
}

/** Tasks to try first: at most as many as a wake names, and only valid ids. */
function validNamed({ tasks }: WorkEvent): readonly string[] {
  const named: readonly unknown[] = Array.isArray(tasks) ? tasks.slice(0, MAX_NAMED) : [];
  return named.filter((id): id is string => typeof id === 'string' && id !== '');
}

function sessionLog(logger: Telemetry['logger'], { meter, metrics }: Invocation): SessionEvents {
  return {
    onRenewed: ({ id, renewals, expiresAt }) => {
      const { writeUnits, readUnits } = meter.read();
      logger.debug('session renewed', { session: id, renewals, expiresAt, writeUnits, readUnits });
    },
    onRenewalFailed: (error) => logger.warn('session not renewed', { error: String(error) }),
    onBlocked: (lateMs) => {
      metrics.count('blocked', 1);
      logger.warn('event loop blocked', { lateMs, error: describeBlock(lateMs) });
    },
    onLost: (error) => {
      metrics.count('leasesLost', 1);
      logger.error('session lost', { error: error.message, reason: error.reason });
    },
  };
}
