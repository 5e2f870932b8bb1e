/** `createWorker` checks the options of a worker in a container or another long-lived process, and connects it to its table. */
import { connectDynamo } from '../dynamo/connect.ts';
import { engineWakes } from './engine-wakes.ts';
import { announcingIn, enqueuedIn } from './process-enqueues.ts';
import { createStores } from './stores.ts';
import { TasksAtWork } from './tasks-at-work.ts';
import { isDenied } from '../core/denied.ts';
import { ConfigurationError, messageOf } from '../core/errors.ts';
import type { WorkTotals } from './run-until-stopped.ts';
import { runUntilStopped } from './run-until-stopped.ts';
import { DEFAULT_TTL_MS } from '../core/lease/timing.ts';
import type { LeaseholdOptions } from './leasehold.ts';
import type { WorkerClient } from './leasehold-of.ts';
import { LEASEHOLD_OPTIONS, Leasehold, withEnvironment } from './leasehold.ts';
import type { TaskEvents } from '../tasks/run/events.ts';
import { taskModuleOf } from '../tasks/run/task-module.ts';
import { systemRuntime } from '../core/runtime/runtime.ts';
import { jsonLines } from './json-lines.ts';
import type { TaskLog } from '../tasks/task/context.ts';
import { boundLog, steadyLog } from '../tasks/task/context.ts';
import { HandedBackError } from '../tasks/task/control.ts';
import type { TaskMiddleware } from '../tasks/task/middleware.ts';
import { DEFAULT_CONCURRENCY, DEFAULT_QUEUE, DEFAULT_SHARDS, MAX_CONCURRENCY, MAX_SHARDS } from '../tasks/task/task.ts';
import { openTelemetry } from '../tasks/tracing/open-telemetry.ts';
import type { AttemptSpans } from '../tasks/tracing/task-spans.ts';
import { TaskSpans, validAttemptSpans } from '../tasks/tracing/task-spans.ts';
import type { Duration } from '../core/validate/duration.ts';
import { givenMs } from '../core/validate/duration.ts';
import { givenName, validName, validWholeNumber, validOptions } from '../core/validate/options.ts';

/** Connection, table and queue are found as `createLeasehold` finds them. */
export interface WorkerOptions extends LeaseholdOptions {
  /** Number of concurrent tasks: 1 to 1,000. Default: 10. */
  readonly concurrency?: number | undefined;
  /** Session TTL: how long after its last heartbeat other workers take its tasks over. Default: 30 s. */
  readonly sessionTtl?: Duration | undefined;
  /** How long task code may take to stop after `stop`. Then its task is handed back anyway. Default: 5 s. */
  readonly grace?: Duration | undefined;
  /** Whether the worker ends when no task is due or running here, nor retried within a second. Default: false, it waits for tasks. */
  readonly untilDrained?: boolean | undefined;
  /** Middleware around every attempt, nested inside the middleware that the task module exports. */
  readonly middleware?: readonly TaskMiddleware[] | undefined;
  /** Called after the handlers that the module exports as `events`. */
  readonly events?: TaskEvents | undefined;
  /** Receives `task.log` and the worker's own messages. Default: one line of JSON each on standard output, without `debug`. */
  readonly log?: TaskLog | undefined;
  /** Whether the log has a line for each attempt that ends, with how it ended. Default: false, only for failures and takeovers. */
  readonly logEnds?: boolean | undefined;
  /** Version of your code, for example a commit: `leasehold tasks show` names it with each attempt. */
  readonly codeVersion?: string | undefined;
  /**
   * Whether the queue lists its finished tasks, for commands and the console. Each task then costs one write unit more: 6 in place of 5.
   * Workers without the option obey it too; `false` switches it off. Default: as the queue's row says; off in a new queue.
   */
  readonly listFinished?: boolean | undefined;
  /** How OpenTelemetry spans of attempts relate to the trace of their task: `parent` (default) or `link`. */
  readonly attemptSpans?: AttemptSpans | undefined;
}

export interface Worker {
  /**
   * Works until `stop`, or with `untilDrained` until no task is due. Waits out an outage of the store.
   * @returns how tasks ended here
   * @throws ConfigurationError when it is called twice, or a schedule of the module cannot be defined
   */
  run(): Promise<WorkTotals>;
  /**
   * Stops running tasks through `task.signal`, hands them back without counting the attempts, and ends `run`. A repeated call,
   * or one before `run`, is harmless.
   */
  stop(): void;
}

const OPTIONS = [
  ...LEASEHOLD_OPTIONS,
  'concurrency',
  'sessionTtl',
  'grace',
  'untilDrained',
  'middleware',
  'events',
  'log',
  'logEnds',
  'codeVersion',
  'listFinished',
  'attemptSpans',
] as const;

const DEFAULT_GRACE_MS = 5_000;

function withoutGrant(cause: unknown): ConfigurationError {
  const sentence = 'workers.grantWork(role) allows all that createWorker does';
  return new ConfigurationError(`${messageOf(cause)}; in CDK, ${sentence}`, { cause });
}

/**
 * A worker of a queue in this process. It runs alongside deployed workers, takes over abandoned tasks,
 * and defines and enqueues the schedules that the module exports.
 * @param taskExports the exports of the module that defines the tasks: `import * as tasks from '../tasks.ts'`
 * @throws ConfigurationError for an unusable option, and for exports without a task
 */
export function createWorker(taskExports: Readonly<Record<string, unknown>>, options: WorkerOptions = {}): Worker {
  const given = withEnvironment(validOptions('the options of createWorker', options, OPTIONS));
  const {
    middleware,
    events,
    payloads,
    log: givenLog = jsonLines(systemRuntime.clock),
    untilDrained = false,
    logEnds = false,
    table,
    maxClockSkew,
  } = given;
  const work = taskModuleOf(taskExports, { middleware, events, payloads });
  const queue = validName('queue', given.queue ?? DEFAULT_QUEUE);
  const log = boundLog(steadyLog(givenLog), { queue });
  const shards = validWholeNumber('shards', given.shards ?? DEFAULT_SHARDS, { min: 1, max: MAX_SHARDS });
  const settings = {
    queue,
    shards,
    untilDrained,
    logEnds,
    codeVersion: givenName('codeVersion', given.codeVersion),
    listFinished: given.listFinished,
    concurrency: validWholeNumber('concurrency', given.concurrency ?? DEFAULT_CONCURRENCY, {
      min: 1,
      max: MAX_CONCURRENCY,
    }),
    sessionTtlMs: givenMs('sessionTtl', given.sessionTtl) ?? DEFAULT_TTL_MS,
    graceMs: givenMs('grace', given.grace) ?? DEFAULT_GRACE_MS,
  };
  const spans = new TaskSpans(openTelemetry, validAttemptSpans(given.attemptSpans));
  const handBack = new AbortController();
  let isRun = false;

  return {
    async run() {
      if (isRun) throw new ConfigurationError('this worker has been run already: create another one');
      isRun = true;
      const connection = connectDynamo(given, systemRuntime, given.observer);
      const { sender, gauge } = connection;
      const onCreated = announcingIn(given);
      const foundation = { sender, gauge, runtime: systemRuntime, onCreated };
      const address = { table, queue, shards, maxClockSkew };
      using leasehold = new Leasehold(foundation, address, connection);
      const client: WorkerClient = { foundation, settings: { ...address, payloads: work.payloads } };
      const stores = createStores(sender, { table, shards, onCreated });
      const { clock } = systemRuntime;
      const engine = engineWakes({ endpoint: given.endpoint, table, clock }, queue);
      const onEnqueued = untilDrained ? undefined : enqueuedIn(given, queue, engine);
      const stopSending = (): void => sender.close();
      const ports = {
        ...stores,
        leasehold,
        gauge,
        runtime: systemRuntime,
        log,
        spans,
        onEnqueued,
        stopSending,
        client,
      };
      const atWork = new TasksAtWork();
      using _exit = atWork.atExit((message) => log.error(message));
      const attached = { ...work, events: atWork.events(work.events) };
      return await runUntilStopped(attached, ports, settings, handBack.signal).catch((error: unknown) => {
        throw isDenied(error) ? withoutGrant(error) : error;
      });
    },
    stop() {
      handBack.abort(new HandedBackError('the worker is stopped'));
    },
  };
}
