/**
 * A complete deployment on a laptop: the engine with its table, the functions, the schedule that wakes the dispatcher,
 * and the table's stream, which invokes the waker.
 * Used by `npm start`, the end-to-end tests and the chaos tests.
 */
import { fileURLToPath } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { WakeSettings } from '../../functions/env.ts';
import { DEFAULT_START_WITHIN_MS, ENV } from '../../functions/env.ts';
import { insertedTasks } from '../../shared/dynamo/inserted.ts';
import { createSdkDriver } from '../../shared/dynamo/wire/sdk-driver.ts';
import { clientSettings } from '../../shared/dynamo/wire/sdk.ts';
import type { Meter } from '../../shared/dynamo/engine/meter.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { createTaskStores } from '../../shared/client/task-stores.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { SessionStore } from '../../shared/session/session-store.ts';
import { TaskClient } from '../../shared/tasks/queue/task-client.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { Engine, EngineOptions } from '../../local/engine.ts';
import { startEngine } from '../../local/engine.ts';
import type { Emit } from './lambda/events.ts';
import { LOCAL_REGION } from './lambda/function-name.ts';
import type { FunctionSettings } from './lambda/function-settings.ts';
import { LocalLambda } from './lambda/local-lambda.ts';
import type { Schedule } from './schedule.ts';
import { startSchedule } from './schedule.ts';
import { followTable } from '../../shared/dynamo/table-stream.ts';
import { TASKS_ENTRY_VARIABLE } from './worker-entry-variable.ts';

interface PlatformOptions {
  readonly engine: EngineOptions;
  /** Absolute path of the module that exports the tasks. */
  readonly tasksEntry: string;
  readonly queue: string;
  readonly maxWorkers: number;
  /** Default: as in a deployment. */
  readonly startWithinMs?: number;
  readonly concurrency: number;
  readonly sessionTtlMs: number;
  readonly workerTimeoutMs: number;
  readonly deadlineMarginMs: number;
  readonly workerMemoryMb: number;
  readonly tickMs: number;
  /** Share of ticks that are delivered twice. */
  readonly duplicateTickRate: number;
  readonly maxClockSkewMs: number;
  readonly onEvent: Emit;
}

export interface Platform {
  readonly engine: Engine;
  readonly lambda: LocalLambda;
  readonly client: DynamoDBClient;
  readonly tasks: TaskClient;
  readonly store: TaskStore;
  readonly sessions: SessionStore;
  /** The units of the enqueueing side; functions report their own. */
  readonly meter: Meter;
  /** Begins to deliver ticks, and wakes for tasks that are enqueued from now on. */
  startSchedule(): void;
  stop(): Promise<void>;
}

export const TABLE_NAME = 'leasehold';
const DISPATCH_FUNCTION = 'leasehold-dispatch';
export const WORK_FUNCTION = 'leasehold-work';
const WAKE_FUNCTION = 'leasehold-wake';
const SCHEDULE_NAME = 'local';
/** Eight would give each small group of packages its own shard; four workers share four well. */
export const SHARDS = 4;
const DISPATCH_TIMEOUT_MS = 10_000;
const WAKE_TIMEOUT_MS = 30_000;
/** Emulators take any; the SDK wants some. */
const LOCAL_CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' };

export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const engine = await startEngine(options.engine);
  try {
    return await assemble(engine, options);
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

async function assemble(engine: Engine, options: PlatformOptions): Promise<Platform> {
  const { endpoint } = engine;
  const client = new DynamoDBClient({
    endpoint,
    region: LOCAL_REGION,
    credentials: LOCAL_CREDENTIALS,
    ...clientSettings,
  });
  await createTable(client, TABLE_NAME);
  const meter = createMeter();
  const driver = createSdkDriver(client);
  const metered = new Sender({ driver, runtime: systemRuntime, observer: meter });
  // Observing is not part of the work, so it is not metered.
  const onlooker = new Sender({ driver, runtime: systemRuntime });
  const { tasks: store, sessions } = createTaskStores(onlooker, { table: TABLE_NAME, shards: SHARDS });
  const { tasks: enqueueing } = createTaskStores(metered, { table: TABLE_NAME, shards: SHARDS });
  const tasks = new TaskClient({ store: enqueueing, runtime: systemRuntime }, { queue: options.queue });

  const lambda = new LocalLambda({ functions: functionsOf(endpoint, options), onEvent: options.onEvent });
  await lambda.start();
  let schedule: Schedule | undefined;
  const stopping = new AbortController();
  let waking: Promise<void> | undefined;
  // One invocation at a time, as Lambda reads a shard.
  const wake = async (Records: Parameters<typeof insertedTasks>[0]): Promise<void> => {
    if (insertedTasks(Records).has(options.queue)) await lambda.invoke(WAKE_FUNCTION, { Records });
  };
  return {
    engine,
    lambda,
    client,
    tasks,
    store,
    sessions,
    meter,
    startSchedule() {
      waking ??= followTable({ endpoint, table: TABLE_NAME, clock: systemRuntime.clock }, wake, stopping.signal);
      schedule ??= startSchedule({
        name: SCHEDULE_NAME,
        everyMs: options.tickMs,
        duplicateRate: options.duplicateTickRate,
        clock: systemRuntime.clock,
        random: systemRuntime.random,
        deliver: async (tick) => {
          await lambda.invoke(DISPATCH_FUNCTION, tick, 'Event');
        },
      });
    },
    async stop() {
      stopping.abort();
      await schedule?.stop();
      await lambda.stop();
      await waking;
      client.destroy();
      await engine.stop();
    },
  };
}

/** The variables that a stack would set. */
export function functionsOf(
  endpoint: string,
  options: Omit<PlatformOptions, 'engine' | 'tickMs' | 'duplicateTickRate' | 'onEvent'>,
): Record<typeof DISPATCH_FUNCTION | typeof WAKE_FUNCTION | typeof WORK_FUNCTION, FunctionSettings> {
  const { queue, maxWorkers, concurrency, maxClockSkewMs, startWithinMs = DEFAULT_START_WITHIN_MS } = options;
  const wake: WakeSettings = {
    queue,
    workerFunction: WORK_FUNCTION,
    shards: SHARDS,
    maxWorkers,
    startWithinMs,
    concurrency,
    maxClockSkewMs,
  };
  const shared = {
    [ENV.table]: TABLE_NAME,
    [ENV.queue]: queue,
    [ENV.shards]: String(SHARDS),
    [ENV.maxWorkers]: String(maxWorkers),
    [ENV.concurrency]: String(concurrency),
    [ENV.maxClockSkewMs]: String(maxClockSkewMs),
    [ENV.endpoint]: endpoint,
    POWERTOOLS_LOG_LEVEL: 'DEBUG',
  };
  return {
    [DISPATCH_FUNCTION]: {
      entry: moduleBeside('../../functions/dispatch.ts'),
      timeoutMs: DISPATCH_TIMEOUT_MS,
      memoryMb: 256,
      environment: {
        ...shared,
        [ENV.workerFunction]: WORK_FUNCTION,
        [ENV.startWithinMs]: String(startWithinMs),
      },
    },
    [WAKE_FUNCTION]: {
      entry: moduleBeside('../../functions/wake.ts'),
      timeoutMs: WAKE_TIMEOUT_MS,
      memoryMb: 256,
      environment: { ...shared, [ENV.wakeQueues]: JSON.stringify([wake]) },
    },
    [WORK_FUNCTION]: {
      entry: moduleBeside('./worker-entry.ts'),
      timeoutMs: options.workerTimeoutMs,
      memoryMb: options.workerMemoryMb,
      maxConcurrency: maxWorkers + SPARE_ENVIRONMENTS,
      // The lease is the retry.
      maximumRetryAttempts: 0,
      environment: {
        ...shared,
        [ENV.sessionTtlMs]: String(options.sessionTtlMs),
        [ENV.lockDelayMs]: '0',
        [ENV.deadlineMarginMs]: String(options.deadlineMarginMs),
        [TASKS_ENTRY_VARIABLE]: options.tasksEntry,
      },
    },
  };
}

/** Room for a worker that is being started while another ends; the semaphore is what caps them. */
const SPARE_ENVIRONMENTS = 2;

function moduleBeside(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
