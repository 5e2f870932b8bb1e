/** One queue, filled and emptied by some workers in this process. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createMeter } from '../../shared/dynamo/meter.ts';
import { createSdkDriver } from '../../shared/dynamo/sdk-driver.ts';
import { Sender } from '../../shared/dynamo/send.ts';
import { createSessionStore } from '../../shared/dynamo/session-store.ts';
import { createTaskStore } from '../../shared/dynamo/task-store.ts';
import { noSkewGauge } from '../../shared/lease/skew.ts';
import { sessionTiming } from '../../shared/lease/timing.ts';
import { systemRuntime as runtime } from '../../shared/runtime/runtime.ts';
import { SessionHolder } from '../../shared/session/holder.ts';
import { TaskClient } from '../../shared/task/client.ts';
import type { AnyTask } from '../../shared/task/definition.ts';
import { registerTasks } from '../../shared/task/definition.ts';
import { runWorker } from '../../shared/task/worker.ts';

export interface Drained {
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly requests: number;
  readonly done: number;
}

export interface DrainSettings {
  readonly table: string;
  readonly queue: string;
  readonly workers: number;
  readonly concurrency: number;
}

const SHARDS = 8;
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export async function drain(
  client: DynamoDBClient,
  { table, queue, workers, concurrency }: DrainSettings,
  task: AnyTask,
  enqueue: (tasks: TaskClient) => Promise<unknown>,
): Promise<Drained> {
  const meter = createMeter();
  const sender = new Sender({ driver: createSdkDriver(client), runtime, observer: meter });
  const tasks = createTaskStore(sender, { table, shards: SHARDS });
  const sessions = createSessionStore(sender, table);
  await enqueue(new TaskClient({ store: tasks, runtime }, { queue }));
  const work = async (worker: number): Promise<number> => {
    const timing = sessionTiming({ lockDelayMs: 0 });
    const options = { timing, name: `bench/${worker}`, node: 'bench', behaviour: 'release' } as const;
    await using session = await SessionHolder.create(options, { store: sessions, runtime });
    const homeShards = Array.from({ length: SHARDS }, (_, shard) => shard).filter(
      (shard) => shard % workers === worker % SHARDS,
    );
    const settings = {
      ...{ queue, shards: SHARDS, homeShards, concurrency },
      ...{ pollMs: 100, graceMs: 1_000, deadlineMonotonicMs: Infinity },
    };
    const ports = { tasks, sessions, session, runtime, gauge: noSkewGauge, log: silent };
    const report = await runWorker(registerTasks({ task }), ports, settings, new AbortController().signal);
    return report.settled.done;
  };
  const done = await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  const { writeUnits, readUnits, requests } = meter.read();
  return { writeUnits, readUnits, requests, done: done.reduce((sum, each) => sum + each, 0) };
}

function ignore(): undefined {
  return undefined;
}
