/**
 * A Leasehold on a simulated store that answers at once and judges every
 * expression as the service would, and all that is not reached through it.
 */
import { createStores } from '../../shared/client/stores.ts';
import type { DynamoDriver, DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import { Leasehold } from '../../shared/client/leasehold.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { SessionHolder } from '../../shared/session/keep-alive.ts';
import { registerTasks } from '../../shared/tasks/task/definition.ts';
import { TaskOperator } from '../../shared/tasks/queue/task-operator.ts';
import type { WorkerReport } from '../../shared/tasks/worker/run-worker.ts';
import { runWorker } from '../../shared/tasks/worker/run-worker.ts';
import { simulatedDriver } from '../../shared/testing/simulated-dynamo/driver.ts';
import { memoryDynamo } from '../../shared/testing/memory-table.ts';
import type { Recording } from './recording.ts';
import { recordingDriver } from './recording.ts';
import { silent } from '../../shared/testing/silent-log.ts';

const TABLE_NAME = 'leasehold';
const SHARDS = 2;

export type World = ReturnType<typeof openWorld>;

export function openWorld(recording: Recording = { expressions: new Set(), names: new Set() }) {
  const store = memoryDynamo(TABLE_NAME, () => systemRuntime.clock.now());
  const plain = simulatedDriver(store);
  const driver = recordingDriver(plain, recording);
  const runtime = systemRuntime;
  const sender = new Sender({ driver, runtime });
  const foundation = { sender, runtime, gauge: noSkewGauge };
  const stores = {
    ...createStores(sender, { table: TABLE_NAME, shards: SHARDS }),
  };
  return {
    foundation,
    stores,
    table: TABLE_NAME,
    shards: SHARDS,
    leasehold: new Leasehold(foundation, { table: TABLE_NAME, shards: SHARDS, maxClockSkew: 0 }),
    operatorOf: (queue: string) => new TaskOperator({ ...stores, ...foundation }, { queue, maxClockSkewMs: 0 }),
    raw: rawRows(plain),
    /** Runs a worker until the backlog is drained. */
    async work(queue: string, definitions: Readonly<Record<string, unknown>>): Promise<WorkerReport> {
      const timing = sessionTiming({ ttlMs: 30_000, lockDelayMs: 0, maxClockSkewMs: 0 });
      const options = { timing, name: 'fuzz', node: 'fuzz', behaviour: 'release' as const };
      await using session = await SessionHolder.create(options, { ...foundation, store: stores.sessions });
      const settings = {
        queue,
        shards: SHARDS,
        homeShards: [0, 1],
        concurrency: 2,
        pollMs: 5,
        graceMs: 50,
        deadlineMonotonicMs: Infinity,
      };
      const ports = { ...stores, ...foundation, session, log: silent };
      return await runWorker(registerTasks(definitions), ports, settings, new AbortController().signal);
    },
  };
}

/** The table as a person with AWS's console has it: any row, as it is. */
function rawRows(driver: DynamoDriver) {
  const signal = new AbortController().signal;
  return {
    async put(Item: DynamoItem): Promise<void> {
      await driver.attempt('put', { TableName: TABLE_NAME, Item }, signal);
    },
    async get(pk: string, sk: string): Promise<DynamoItem | undefined> {
      return (await driver.attempt('get', { TableName: TABLE_NAME, Key: { pk, sk }, ConsistentRead: true }, signal))
        .Item;
    },
  };
}
