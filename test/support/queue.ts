/** A queue of a test's own, with everything that works on it: the client, the operator, and workers that run in the test's process. */
import { createStores } from '../../shared/client/stores.ts';
import type { Meter } from '../../shared/dynamo/engine/meter.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import type { SessionTiming } from '../../shared/core/lease/timing.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { SessionHolder } from '../../shared/session/keep-alive.ts';
import type { SessionStore } from '../../shared/session/session-store.ts';
import { TaskClient } from '../../shared/tasks/queue/task-client.ts';
import { registerTasks } from '../../shared/tasks/task/definition.ts';
import { TaskOperator } from '../../shared/tasks/queue/task-operator.ts';
import type { TaskOperatorStore } from '../../shared/tasks/task/task-operator-store.ts';
import type { QueueStore } from '../../shared/tasks/task/queue-store.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { WorkerPorts, WorkerReport } from '../../shared/tasks/worker/run-worker.ts';
import { runWorker } from '../../shared/tasks/worker/run-worker.ts';
import type { TestStore } from './stores.ts';
import { silent } from '../../shared/testing/silent-log.ts';

export interface QueueUnderTest {
  readonly queue: string;
  readonly table: string;
  readonly runtime: Runtime;
  readonly meter: Meter;
  readonly tasks: TaskStore;
  readonly operations: TaskOperatorStore;
  readonly sessions: SessionStore;
  readonly queues: QueueStore;
  readonly client: TaskClient;
  readonly operator: TaskOperator;
  /** Opens a session that lives through any pause of the machine, unless its timing says otherwise. */
  session(timing?: Partial<SessionTiming>): Promise<SessionHolder>;
  /** Runs a worker until the backlog is drained. */
  work(definitions: Readonly<Record<string, unknown>>, options?: WorkOptions): Promise<WorkerReport>;
  /** Write units by verb, so far. */
  units(): Record<string, number>;
}

interface WorkOptions {
  readonly concurrency?: number;
  readonly handBack?: AbortSignal;
  readonly ports?: Partial<WorkerPorts>;
}

const SHARDS = 2;
/** Also the time limit for additional writes of a task: a kept stack, a removed payload. Longer than any pause of the machine. */
const GRACE_MS = 300_000;

export function openQueue(store: TestStore, runtime: Runtime = systemRuntime): QueueUnderTest {
  const { sender, meter } = store.openSender(runtime, store.driver);
  const { table } = store;
  const queue = `q-${runtime.ids.unique()}`;
  const { tasks, operations, sessions, queues } = createStores(sender, { table, shards: SHARDS });
  const session = (timing: Partial<SessionTiming> = {}): Promise<SessionHolder> => {
    const options = {
      timing: sessionTiming({ ttlMs: 300_000, heartbeatMs: 150, lockDelayMs: 0, maxClockSkewMs: 0, ...timing }),
      name: 'test',
      node: 'test',
      behaviour: 'release' as const,
    };
    return SessionHolder.create(options, { store: sessions, runtime, gauge: noSkewGauge });
  };
  return {
    queue,
    table,
    runtime,
    meter,
    tasks,
    operations,
    sessions,
    queues,
    session,
    client: new TaskClient({ store: tasks, runtime }, { queue }),
    operator: new TaskOperator(
      { tasks, operations, queues, sessions, runtime, gauge: noSkewGauge },
      { queue, maxClockSkewMs: 0 },
    ),
    async work(definitions, { concurrency = 4, handBack = new AbortController().signal, ports = {} } = {}) {
      await using holder = await session();
      const settings = {
        queue,
        shards: SHARDS,
        homeShards: [0, 1],
        concurrency,
        pollMs: 20,
        graceMs: GRACE_MS,
        deadlineMonotonicMs: Infinity,
      };
      const all = { tasks, sessions, queues, session: holder, runtime, gauge: noSkewGauge, log: silent, ...ports };
      return await runWorker(registerTasks(definitions), all, settings, handBack);
    },
    units: () => Object.fromEntries(Object.entries(meter.read().byVerb).map(([verb, cost]) => [verb, cost.writeUnits])),
  };
}
