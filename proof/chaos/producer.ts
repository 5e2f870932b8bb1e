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
import type { Deployment } from './deployment.ts';
import { QUEUE, SHARDS } from './deployment.ts';
import type { Arm } from './profile.ts';
import { ARMS, OPEN_TASKS, TASK_NAMES } from './profile.ts';

const ENDED: ReadonlySet<TaskState> = new Set(['done', 'dead', 'cancelled']);
const LOOK_EVERY_MS = 400;
/** Each takes seconds: a store that is away for minutes ends the run. */
const ENQUEUE_ATTEMPTS = 20;

export class Producer {
  /** Tasks whose enqueueing was acknowledged: these must not be lost. */
  readonly acknowledged: { readonly id: string; readonly arm: Arm }[] = [];
  readonly #client: TaskClient;
  readonly #onlooker: TaskStore;
  readonly #open = new Map<string, Arm>();
  #made = 0;

  /** @param faulty for enqueueing */
  constructor(faulty: DynamoDBClient, { client, tables }: Deployment) {
    const storeOver = (to: DynamoDBClient, policy = {}): TaskStore =>
      createTaskStore(new Sender({ driver: createSdkDriver(to), runtime: systemRuntime, ...policy }), {
        table: tables.leasehold,
        shards: SHARDS,
      });
    this.#client = new TaskClient({ store: storeOver(faulty), runtime: systemRuntime }, { queue: QUEUE });
    this.#onlooker = storeOver(client, { policy: PATIENT });
  }

  /** Adds tasks until `stop` aborts. */
  async produce(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.look();
      const arms = [...this.#open.values()];
      const missing = ARMS.flatMap((arm) =>
        Array.from({ length: OPEN_TASKS - arms.filter((other) => other === arm).length }, () => arm),
      );
      await Promise.all(missing.map((arm) => this.#enqueue(arm)));
      await systemRuntime.clock.sleep(LOOK_EVERY_MS, stop);
    }
  }

  /** Reads the rows of the tasks that had not ended when last seen. @returns how many have not ended */
  async look(): Promise<number> {
    const keys = [...this.#open.keys()].map((id) => ({ queue: QUEUE, id }));
    for (const row of await this.#onlooker.getMany(keys)) if (ENDED.has(row.state)) this.#open.delete(row.id);
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
}
