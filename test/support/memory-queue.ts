/** A queue on the table in memory, which charges by our own capacity model and may be given a driver that has accidents. */
import type { DynamoDriver } from '../../shared/dynamo/engine/driver.ts';
import type { Meter } from '../../shared/dynamo/engine/meter.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { grantFor } from '../../shared/dynamo/engine/grant-for.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../shared/session/row/dynamo-session-store.ts';
import { createTaskOperatorStore } from '../../shared/tasks/rows/task/dynamo-task-operator-store.ts';
import type { TaskStoreOptions } from '../../shared/tasks/rows/task/adding-store.ts';
import { createQueueStore } from '../../shared/tasks/rows/dynamo-queue-store.ts';
import { createTaskStore } from '../../shared/tasks/rows/task/dynamo-task-store.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import { systemIds } from '../../shared/core/runtime/ids.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import type { SessionStore } from '../../shared/session/session-store.ts';
import { TaskClient } from '../../shared/tasks/queue/task-client.ts';
import { TaskOperator } from '../../shared/tasks/queue/task-operator.ts';
import type { TaskLog } from '../../shared/tasks/task/context.ts';
import { registerTasks } from '../../shared/tasks/task/definition.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { Slice } from '../../shared/tasks/task/slice.ts';
import { ListedQueues } from '../../shared/tasks/task/listed-queues.ts';
import type { QueueStore } from '../../shared/tasks/task/queue-store.ts';
import type { TaskOperatorStore } from '../../shared/tasks/task/task-operator-store.ts';
import type { WorkerPorts, WorkerReport } from '../../shared/tasks/worker/run-worker.ts';
import { runWorker } from '../../shared/tasks/worker/run-worker.ts';
import { FakeClock } from '../../shared/testing/fake-clock.ts';
import { memoryDynamo } from '../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../shared/testing/simulated-dynamo/driver.ts';
import type { Mortal } from './mortal.ts';
import { silent } from '../../shared/testing/silent-log.ts';
import { openHolder } from './open-holder.ts';

const TABLE = 'leasehold';
export const QUEUE = 'default';
export const MEMORY_TTL_MS = 3_000;

export interface MemoryQueue {
  readonly table: string;
  readonly clock: FakeClock;
  readonly runtime: Runtime;
  readonly tasks: TaskStore;
  readonly operations: TaskOperatorStore;
  readonly queues: QueueStore;
  readonly client: TaskClient;
  readonly operator: TaskOperator;
  /** Requests of all processes. */
  readonly meter: Meter;
  /** Starts a worker: the test lets time pass. Ends when its backlog is drained, or when it dies: then there is no report. */
  start(definitions: Readonly<Record<string, unknown>>, options?: MemoryWorkOptions): Promise<WorkerReport | undefined>;
  /** The same, with all the time that it needs. */
  work(definitions: Readonly<Record<string, unknown>>, options?: MemoryWorkOptions): Promise<WorkerReport | undefined>;
  /** Write units of verbs of tasks and payloads, so far. */
  taskUnits(): Record<string, number>;
  read(key: { readonly pk: string; readonly sk: string }): Promise<Readonly<Record<string, unknown>> | undefined>;
}

interface MemoryWorkOptions {
  readonly process?: Mortal;
  readonly concurrency?: number;
  /** Ids of tasks to try first. */
  readonly named?: readonly string[];
  /** Part of the only shard. */
  readonly slice?: Slice;
  /** All of them; tasks stand in the first. Default: 1. */
  readonly shards?: number;
  /** Default: the first shard. Without a shard, all tasks are in foreign ones. */
  readonly homeShards?: readonly number[];
  readonly handBack?: AbortSignal;
  /** Idle time before exit, and the source of announcements during that time. */
  readonly lingerMs?: number;
  readonly onEnqueued?: WorkerPorts['onEnqueued'];
  readonly log?: TaskLog;
  /** Whether it reads the queue's row, which says what is paused. Default: not. */
  readonly asksQueue?: boolean;
  /** Whether it was started because tasks come one by one, beside a waker. */
  readonly stays?: boolean;
}

interface Stores extends Pick<MemoryQueue, 'tasks' | 'operations' | 'queues'> {
  readonly sessions: SessionStore;
}

/** @param wrap makes the driver of every participant without its own */
export function openMemoryQueue(
  wrap: (driver: DynamoDriver) => DynamoDriver = (driver) => driver,
  onCreated?: TaskStoreOptions['onCreated'],
): MemoryQueue {
  const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
  const runtime: Runtime = { clock, random: { next: () => 0.5 }, ids: systemIds };
  const driver = wrap(simulatedDriver(memoryDynamo(TABLE, () => clock.now())));
  const meter = createMeter();
  const storesOf = (process?: Mortal): Stores => {
    const sender = new Sender({ driver: process?.driver(driver) ?? driver, runtime, observer: meter, grantFor });
    const options = { table: TABLE, shards: 1, onCreated, listed: new ListedQueues() };
    return {
      tasks: createTaskStore(sender, options),
      operations: createTaskOperatorStore(sender, options),
      sessions: createSessionStore(sender, TABLE),
      queues: createQueueStore(sender, TABLE, options.listed),
    };
  };
  const stores = storesOf();
  return {
    table: TABLE,
    clock,
    runtime,
    meter,
    tasks: stores.tasks,
    operations: stores.operations,
    queues: stores.queues,
    client: new TaskClient({ store: stores.tasks, runtime }, { queue: QUEUE }),
    operator: new TaskOperator({ ...stores, runtime, gauge: noSkewGauge }, { queue: QUEUE }),
    start,
    work: (definitions, options) => clock.runUntil(start(definitions, options), () => true),
    taskUnits: () =>
      Object.fromEntries(
        Object.entries(meter.read().byVerb)
          .filter(([verb, { writeUnits }]) => /^(task|payload)\./.test(verb) && writeUnits > 0)
          .map(([verb, { writeUnits }]) => [verb, writeUnits]),
      ),
    async read(key) {
      const request = { TableName: TABLE, Key: { ...key }, ConsistentRead: true };
      return (await driver.attempt('get', request, new AbortController().signal)).Item;
    },
  };
  async function start(
    definitions: Readonly<Record<string, unknown>>,
    options: MemoryWorkOptions = {},
  ): Promise<WorkerReport | undefined> {
    const { concurrency = 1, named, handBack = new AbortController().signal, log = silent, process } = options;
    const { lingerMs, onEnqueued, slice, shards = 1, homeShards = [0], stays = false, asksQueue = stays } = options;
    const { tasks, sessions, queues } = storesOf(process);
    const workAndEnd = async (): Promise<WorkerReport> => {
      const timing = sessionTiming({ ttlMs: MEMORY_TTL_MS, heartbeatMs: 1_000, lockDelayMs: 0, maxClockSkewMs: 0 });
      const session = await openHolder({ timing, name: 'test', node: 'test' }, { store: sessions, runtime });
      const settings = {
        queue: QUEUE,
        shards,
        homeShards,
        slice,
        ...(stays ? { stays, hasDispatcher: true } : {}),
        concurrency,
        named,
        lingerMs,
        pollMs: 100,
        graceMs: 1_000,
        deadlineMonotonicMs: Infinity,
      };
      const asked = asksQueue ? queues : undefined;
      const ports = { tasks, sessions, queues: asked, session, runtime, gauge: noSkewGauge, log, onEnqueued };
      try {
        return await runWorker(registerTasks(definitions), ports, settings, handBack);
      } finally {
        await session.end();
      }
    };
    return process === undefined ? workAndEnd() : Promise.race([workAndEnd(), process.death]);
  }
}
