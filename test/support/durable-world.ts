/** Workers on an in-memory table, each of which can be killed at any of its requests, with the stores and the bill of what they send. */
import { Leasehold } from '../../shared/client/leasehold.ts';
import { createClientStores } from '../../shared/client/stores.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { systemIds } from '../../shared/core/runtime/ids.ts';
import type { Duration } from '../../shared/core/validate/duration.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { elementsOfPart, unpacked } from '../../shared/tasks/durable/packed.ts';
import type { HistoryEvent } from '../../shared/tasks/durable/history.ts';
import { historyOf } from '../../shared/tasks/durable/history.ts';
import { NEVER } from '../../shared/tasks/task/batch.ts';
import type { TaskLog } from '../../shared/tasks/task/context.ts';
import { registerTasks } from '../../shared/tasks/task/definition.ts';
import type { PayloadStore } from '../../shared/tasks/task/payload.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import { TaskSpans } from '../../shared/tasks/tracing/task-spans.ts';
import { openTelemetry } from '../../shared/tasks/tracing/open-telemetry.ts';
import type { TaskEvents } from '../../shared/tasks/run/events.ts';
import { KitWorkers, SHARDS } from '../../shared/testing/kit-worker.ts';
import { memoryDynamo } from '../../shared/testing/memory-table.ts';
import { silent } from '../../shared/testing/silent-log.ts';
import type { CrashPlace } from '../../shared/testing/worker-process.ts';
import {
  ProcessClock,
  ProcessDriver,
  WorkerProcess,
  WorkersLife,
  currentProcess,
} from '../../shared/testing/worker-process.ts';

const TABLE = 'leasehold';
const QUEUE = 'default';
const WRITES: ReadonlySet<string> = new Set(['put', 'update', 'delete', 'transactWrite']);

interface WorldOptions {
  readonly tasks: Readonly<Record<string, unknown>>;
  readonly log?: TaskLog;
  readonly events?: TaskEvents;
  readonly payloads?: PayloadStore;
  /** Tables of the user, whose key is `id`. */
  readonly tables?: readonly string[];
  /** Called before each request of a worker, with its number. */
  readonly beforeRequest?: (request: number) => Promise<void>;
}

export class DurableWorld {
  readonly clock = new ProcessClock(new Date('2026-01-01T00:00:00Z'));
  readonly dynamo = memoryDynamo(TABLE, () => this.clock.now());
  readonly stores: ReturnType<typeof createClientStores>;
  readonly leasehold: Leasehold;
  /** Write units so far, by verb, without units of sessions. */
  readonly units = new Map<string, number>();
  /** Requests of workers so far. */
  requests = 0;
  readonly #workers: KitWorkers;

  constructor({ tasks, log = silent, events, payloads, tables = [], beforeRequest }: WorldOptions) {
    for (const name of tables) this.dynamo.createTable({ name, partition: { name: 'id', type: 'S' } });
    const runtime: Runtime = { clock: this.clock, random: { next: () => 0.5 }, ids: systemIds };
    const driver = new ProcessDriver(() => this.dynamo);
    const sender = new Sender({
      driver: {
        attempt: async (kind, input, signal) => {
          if (currentProcess() !== undefined) await beforeRequest?.(++this.requests);
          return driver.attempt(kind, input, signal);
        },
      },
      runtime,
      observer: {
        onAttempt: ({ statement, output }) => {
          if (!WRITES.has(statement.kind) || statement.verb.startsWith('session.')) return;
          const { ConsumedCapacity } = (output ?? {}) as { readonly ConsumedCapacity?: unknown };
          const all = [ConsumedCapacity].flat() as ({ readonly CapacityUnits?: number } | undefined)[];
          const units = all.reduce((sum, one) => sum + (one?.CapacityUnits ?? 0), 0);
          this.units.set(statement.verb, (this.units.get(statement.verb) ?? 0) + units);
        },
      },
    });
    const client = {
      foundation: { sender, runtime, gauge: noSkewGauge },
      settings: { table: TABLE, queue: QUEUE, shards: SHARDS, payloads },
    };
    this.leasehold = new Leasehold(client.foundation, client.settings);
    this.stores = createClientStores(sender, { table: TABLE, shards: SHARDS });
    this.#workers = new KitWorkers(registerTasks(tasks), {
      stores: this.stores,
      runtime,
      clock: this.clock,
      queue: QUEUE,
      spans: new TaskSpans(openTelemetry),
      log,
      events,
      payloads,
      client,
    });
  }

  /** Runs a worker until the queue is drained. @returns its process, which may have been killed */
  async work(killAt?: CrashPlace, lifetime?: Duration): Promise<WorkerProcess> {
    const process = new WorkerProcess(new WorkersLife(killAt));
    await this.#workers.workIn(process, {
      concurrency: 1,
      ...(lifetime !== undefined && { lifetime, timePasses: true }),
    });
    return process;
  }

  async task(id: string): Promise<TaskRecord> {
    const task = await this.stores.tasks.get({ queue: QUEUE, id });
    if (task === undefined) throw new Error(`there is no task ${id}`);
    return task;
  }

  async history(id: string): Promise<readonly HistoryEvent[]> {
    const task = await this.task(id);
    const { texts } = await this.stores.tasks.journalParts(task);
    return historyOf(task, [
      ...[...texts.values()].flatMap(elementsOfPart),
      ...(task.journal?.elements ?? []).flatMap(unpacked),
    ]);
  }

  /**
   * Lets time pass until the task is due, or until the session of its dead worker has expired.
   * @returns false if only an answer can wake it
   */
  async pass(id: string): Promise<boolean> {
    const task = await this.task(id);
    if (task.state === 'running') await this.clock.advance(40_000);
    if (task.state !== 'ready') return true;
    const ms = task.readyAt - this.clock.now();
    if (task.readyAt >= NEVER || ms > 300 * 86_400_000) return false;
    await this.clock.advance(Math.max(0, ms));
    return true;
  }

  rows(table = TABLE): readonly Readonly<Record<string, unknown>>[] {
    return this.dynamo.scan(table);
  }
}

export function isOver({ state }: TaskRecord): boolean {
  return state !== 'ready' && state !== 'running';
}
