/** A queue of an example's own, with workers in the example's process, on the given endpoint or the embedded engine. */
import { startEngine } from '../local/engine.ts';
import { connectDynamo } from '../shared/dynamo/connect.ts';
import { createSessionStore } from '../shared/dynamo/session-store.ts';
import { createTable } from '../shared/dynamo/table.ts';
import { createTaskStore } from '../shared/dynamo/task-store.ts';
import { sessionTiming } from '../shared/lease/timing.ts';
import { systemRuntime as runtime } from '../shared/runtime/runtime.ts';
import { SessionHolder } from '../shared/session/holder.ts';
import { TaskClient } from '../shared/task/client.ts';
import { registerTasks } from '../shared/task/definition.ts';
import type { PayloadStore } from '../shared/task/payload.ts';
import type { WorkerReport } from '../shared/task/worker.ts';
import { runWorker } from '../shared/task/worker.ts';

export interface ExampleQueue extends AsyncDisposable {
  readonly client: TaskClient;
  /** Runs workers until nothing is due any more, nor will be soon. */
  drain(tasks: Readonly<Record<string, unknown>>, options?: { readonly workers?: number }): Promise<void>;
}

const TABLE = 'leasehold-examples';
const SHARDS = 2;
/** Longer than the retries of the examples wait. */
const PATIENCE_MS = 400;
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export async function openQueue(
  endpoint: string | undefined,
  options: { readonly payloads?: PayloadStore } = {},
): Promise<ExampleQueue> {
  const engine = endpoint === undefined ? await startEngine({ kind: 'embedded' }) : undefined;
  const connection = connectDynamo({ endpoint: endpoint ?? engine?.endpoint }, runtime);
  await createTable(connection.client, TABLE);
  const tasks = createTaskStore(connection.sender, { table: TABLE, shards: SHARDS });
  const sessions = createSessionStore(connection.sender, TABLE);
  const queue = `example-${runtime.ids.unique()}`;

  const work = async (definitions: Readonly<Record<string, unknown>>): Promise<WorkerReport> => {
    const timing = sessionTiming({ lockDelayMs: 0 });
    const holder = { timing, name: 'example', node: 'here', behaviour: 'release' } as const;
    await using session = await SessionHolder.create(holder, { store: sessions, runtime });
    const ports = { tasks, sessions, session, runtime, gauge: connection.gauge, log: silent, ...options };
    return await runWorker(
      ...[registerTasks(definitions), ports],
      {
        ...{ queue, shards: SHARDS, homeShards: [0, 1], concurrency: 5 },
        ...{ pollMs: 50, graceMs: 1_000, deadlineMonotonicMs: Infinity },
      },
      new AbortController().signal,
    );
  };

  return {
    client: new TaskClient({ store: tasks, runtime }, { queue, ...options }),
    async drain(definitions, { workers = 1 } = {}) {
      for (;;) {
        const reports = await Promise.all(Array.from({ length: workers }, () => work(definitions)));
        if (reports.every(({ claimed }) => claimed === 0)) return;
        await runtime.clock.sleep(PATIENCE_MS);
      }
    },
    async [Symbol.asyncDispose]() {
      connection.client.destroy();
      await engine?.stop();
    },
  };
}

/** Says whether a claim of the example holds; the exit code says it of all. */
export function check(holds: boolean, claim: string): void {
  console.log(`  ${holds ? 'yes' : 'NO '}  ${claim}`);
  if (!holds) process.exitCode = 1;
}

function ignore(): void {
  // Nobody reads it.
}
