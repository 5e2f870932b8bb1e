/**
 * The side that has work to be done: keeps some tasks of each arm open,
 * through the same faulty network, and knows what was acknowledged to it.
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createSdkDriver } from '../../shared/dynamo/wire/sdk-driver.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createTaskStore } from '../../shared/tasks/rows/task/dynamo-task-store.ts';
import { StoreUnavailableError } from '../../shared/core/errors.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { TaskClient } from '../../shared/tasks/queue/task-client.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { TaskRecord, TaskState } from '../../shared/tasks/task/task.ts';
import { PATIENT } from '../../test/support/patient.ts';
import { QUEUE, SHARDS } from './deployment.ts';
import type { Arm } from './journal.ts';
import { TASK_NAMES } from './task-names.ts';

const ENDED: ReadonlySet<TaskState> = new Set(['done', 'dead', 'cancelled']);
const LOOK_EVERY_MS = 400;
/** Each takes seconds: a store that is away for minutes ends the run. */
const ENQUEUE_ATTEMPTS = 20;

export interface AcknowledgedTask {
  readonly id: string;
  readonly arm: Arm;
}

export class Producer {
  /** Tasks whose enqueueing was acknowledged: these must not be lost. */
  readonly acknowledged: AcknowledgedTask[] = [];
  readonly #client: TaskClient;
  readonly #onlooker: TaskStore;
  readonly #openTasks: number;
  readonly #open = new Map<string, Arm>();
  #made = 0;

  /**
   * @param clients.faulty for enqueueing
   * @param clients.direct for observing
   */
  constructor(
    clients: { readonly faulty: DynamoDBClient; readonly direct: DynamoDBClient },
    options: { readonly table: string; readonly openTasks: number },
  ) {
    const storeOver = (client: DynamoDBClient, policy = {}): TaskStore =>
      createTaskStore(new Sender({ driver: createSdkDriver(client), runtime: systemRuntime, ...policy }), {
        table: options.table,
        shards: SHARDS,
      });
    this.#client = new TaskClient({ store: storeOver(clients.faulty), runtime: systemRuntime }, { queue: QUEUE });
    this.#onlooker = storeOver(clients.direct, { policy: PATIENT });
    this.#openTasks = options.openTasks;
  }

  /** Adds tasks until `stop` aborts. */
  async produce(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.look();
      const missing = (['fenced', 'naive'] as const).flatMap((arm) =>
        Array.from({ length: this.#openTasks - this.#openOf(arm) }, () => arm),
      );
      await Promise.all(missing.map((arm) => this.#enqueue(arm)));
      await systemRuntime.clock.sleep(LOOK_EVERY_MS, stop);
    }
  }

  /** Reads the rows of the tasks that had not ended when last seen. */
  async look(): Promise<void> {
    const keys = [...this.#open.keys()].map((id) => ({ queue: QUEUE, id }));
    for (const row of await this.#onlooker.getMany(keys)) {
      if (ENDED.has(row.state)) this.#open.delete(row.id);
    }
  }

  get open(): number {
    return this.#open.size;
  }

  /** Every acknowledged task's row, as it is now. */
  async rows(): Promise<Map<string, TaskRecord>> {
    const rows = await this.#onlooker.getMany(this.acknowledged.map(({ id }) => ({ queue: QUEUE, id })));
    return new Map(rows.map((row) => [row.id, row]));
  }

  async #enqueue(arm: Arm): Promise<void> {
    const n = ++this.#made;
    const id = `${arm}-${n}`;
    // Asked again until it is acknowledged: that is what an id is for.
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#client.enqueue(TASK_NAMES[arm], { n }, { id });
        this.acknowledged.push({ id, arm });
        this.#open.set(id, arm);
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailableError) || attempt === ENQUEUE_ATTEMPTS) throw error;
      }
    }
  }

  #openOf(arm: Arm): number {
    return [...this.#open.values()].filter((other) => other === arm).length;
  }
}
