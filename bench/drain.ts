/** One queue filled with no-op tasks and drained by workers of this process: what it took. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createMeter } from '../shared/dynamo/meter.ts';
import { createSdkDriver } from '../shared/dynamo/sdk-driver.ts';
import { Sender } from '../shared/dynamo/send.ts';
import { createSessionStore } from '../shared/dynamo/session-store.ts';
import { createTaskStore } from '../shared/dynamo/task-store.ts';
import { noSkewGauge } from '../shared/lease/skew.ts';
import { sessionTiming } from '../shared/lease/timing.ts';
import { systemRuntime } from '../shared/runtime/runtime.ts';
import { SessionHolder } from '../shared/session/holder.ts';
import type { EnqueueOptions } from '../shared/task/client.ts';
import { TaskClient } from '../shared/task/client.ts';
import type { TaskContext } from '../shared/task/context.ts';
import { RetryAfter } from '../shared/task/control.ts';
import { defineTask, registerTasks } from '../shared/task/definition.ts';
import type { NewTask } from '../shared/task/store.ts';
import { PRIORITIES } from '../shared/task/task.ts';
import type { WorkerReport } from '../shared/task/worker.ts';
import { runWorker } from '../shared/task/worker.ts';

/** What the tasks of a queue have beside their input. */
export interface TaskMix {
  readonly hasPriorities: boolean;
  /** Keys that the tasks are spread over, each with a limit of 2; 0: none has a key. */
  readonly keys: number;
  /** As keys, in strict order. */
  readonly lines: number;
  /** Tenants that the tasks are spread over; 0: none has a tenant. */
  readonly tenants: number;
  /** The share of tasks whose first attempt fails, in percent. */
  readonly retries: number;
}

export const PLAIN: TaskMix = { hasPriorities: false, keys: 0, lines: 0, tenants: 0, retries: 0 };

export interface DrainSettings {
  readonly tasks: number;
  readonly workers: number;
  readonly concurrency: number;
  readonly shards: number;
  readonly mix: TaskMix;
}

export interface Drained {
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly claimed: number;
  readonly claimsRefused: number;
  readonly done: number;
}

const MAX_ENQUEUES_IN_FLIGHT = 64;
/** Validated at a time: the whole of a large backlog need not be in memory twice. */
const ENQUEUED_AT_A_TIME = 5_000;
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Fails the first attempts of its share, by the number in the input. */
const noop = defineTask({
  name: 'noop',
  run({ fails }: { n: number; fails?: true }, { attempt }: TaskContext) {
    if (fails === true && attempt === 1) throw new RetryAfter(0, 'the first attempt fails');
  },
});

export async function drain(
  client: DynamoDBClient,
  table: string,
  queue: string,
  settings: DrainSettings,
): Promise<Drained> {
  const runtime = systemRuntime;
  const meter = createMeter();
  const sender = new Sender({ driver: createSdkDriver(client), runtime, observer: meter });
  const { shards, workers, concurrency } = settings;
  const tasks = createTaskStore(sender, { table, shards });
  const sessions = createSessionStore(sender, table);
  const registry = registerTasks({ noop });
  await fill(new TaskClient({ store: tasks, runtime }, { queue }), settings);
  const work = async (worker: number): Promise<WorkerReport> => {
    const timing = sessionTiming({ lockDelayMs: 0 });
    const options = { timing, name: `bench/${worker}`, node: 'bench', behaviour: 'release' } as const;
    await using session = await SessionHolder.create(options, { store: sessions, runtime });
    const homeShards = Array.from({ length: shards }, (_, shard) => shard).filter(
      (shard) => shard % workers === worker % shards,
    );
    const workerSettings = {
      ...{ queue, shards, homeShards, concurrency },
      ...{ pollMs: 100, graceMs: 1_000, deadlineMonotonicMs: Infinity },
    };
    const ports = { tasks, sessions, session, runtime, gauge: noSkewGauge, log: silent };
    return await runWorker(registry, ports, workerSettings, new AbortController().signal);
  };
  const reports = await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  const { writeUnits, readUnits } = meter.read();
  const sum = (figure: (report: WorkerReport) => number): number =>
    reports.reduce((total, each) => total + figure(each), 0);
  return {
    ...{ writeUnits, readUnits },
    claimed: sum((each) => each.claimed),
    claimsRefused: sum((each) => each.claimsRefused),
    done: sum((each) => each.settled.done),
  };
}

async function fill(client: TaskClient, { tasks, workers, concurrency, mix }: DrainSettings): Promise<void> {
  const inFlight = Math.min(MAX_ENQUEUES_IN_FLIGHT, workers * concurrency);
  for (let from = 0; from < tasks; from += ENQUEUED_AT_A_TIME) {
    const some = Array.from({ length: Math.min(ENQUEUED_AT_A_TIME, tasks - from) }, (_, at) => from + at);
    const valid = some.map((n): Promise<NewTask> => client.validate(noop, inputOf(n, mix), optionsOf(n, mix)));
    await client.enqueueAll(await Promise.all(valid), { inFlight });
  }
}

function inputOf(n: number, { retries }: TaskMix): object {
  return n % 100 < retries ? { n, fails: true } : { n };
}

function optionsOf(n: number, { hasPriorities, keys, lines, tenants }: TaskMix): EnqueueOptions {
  return {
    ...(hasPriorities ? { priority: PRIORITIES[n % PRIORITIES.length] ?? 'normal' } : {}),
    ...(keys > 0 ? { key: `key-${n % keys}`, limit: 2 } : {}),
    ...(lines > 0 ? { key: `line-${n % lines}`, ordered: true } : {}),
    ...(tenants > 0 ? { tenant: `tenant-${n % tenants}` } : {}),
  };
}

function ignore(): void {
  // Nobody reads it.
}
