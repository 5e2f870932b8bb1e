/** The console's composition root: one client, and for each look a set of stores whose units are counted apart. */
import { AuditStore } from '../shared/dynamo/audit-store.ts';
import type { ConnectionOptions, DynamoConnection } from '../shared/dynamo/connect.ts';
import { connectDynamo } from '../shared/dynamo/connect.ts';
import type { Meter } from '../shared/dynamo/meter.ts';
import { createMeter } from '../shared/dynamo/meter.ts';
import type { DynamoDriver } from '../shared/dynamo/driver.ts';
import { createQueueStore } from '../shared/dynamo/queue-store.ts';
import { createSemaphoreStore } from '../shared/dynamo/semaphore-store.ts';
import { createSessionStore } from '../shared/dynamo/session-store.ts';
import type { SendObserver } from '../shared/dynamo/send.ts';
import { Sender } from '../shared/dynamo/send.ts';
import { createSdkDriver } from '../shared/dynamo/sdk-driver.ts';
import { createTaskOperatorStore } from '../shared/dynamo/task-operator-store.ts';
import { createTaskStore } from '../shared/dynamo/task-store.ts';
import { Leasehold } from '../shared/leasehold.ts';
import type { Runtime } from '../shared/runtime/runtime.ts';
import type { SemaphoreStore } from '../shared/semaphore/store.ts';
import type { SessionStore } from '../shared/session/store.ts';
import type { TaskOperatorStore } from '../shared/task/operator-store.ts';
import type { QueueStore } from '../shared/task/queue-store.ts';
import type { TaskStore } from '../shared/task/store.ts';
import type { DeskInfo } from './model.ts';

export interface DeskOptions extends ConnectionOptions {
  readonly table: string;
  /** Partitions of the ready index, as deployed: tasks in others are not seen. */
  readonly shards: number;
  readonly maxClockSkewMs: number;
  /** Queues to show beside those that have had a worker. */
  readonly queues: readonly string[];
  readonly isReadOnly: boolean;
  /** Who acts, for the record: it identifies nobody, credentials do that. */
  readonly by: string;
}

/** Everything that a look or an act needs, over one sender. */
export interface Stores {
  readonly leasehold: Leasehold;
  readonly audit: AuditStore;
  readonly tasks: TaskStore;
  readonly operations: TaskOperatorStore;
  readonly queues: QueueStore;
  readonly sessions: SessionStore;
  readonly semaphores: SemaphoreStore;
  /** Read units that these stores have used. */
  readonly spent: () => number;
}

export class Desk implements Disposable {
  readonly options: DeskOptions;
  readonly runtime: Runtime;
  readonly #connection: DynamoConnection;
  readonly #driver: DynamoDriver;
  readonly #total: Meter = createMeter();

  constructor(options: DeskOptions, runtime: Runtime) {
    this.options = options;
    this.runtime = runtime;
    this.#connection = connectDynamo(options, runtime);
    // Over the same client, whose gauge of clocks watches already.
    this.#driver = createSdkDriver(this.#connection.client);
  }

  get info(): DeskInfo {
    const { table, endpoint, region, isReadOnly, by } = this.options;
    return { table, place: endpoint ?? region ?? 'the region of your credentials', isReadOnly, by };
  }

  now(): number {
    return this.runtime.clock.now();
  }

  /** Read units of this console so far. */
  readUnits(): number {
    return this.#total.read().readUnits;
  }

  open(): Stores {
    const { gauge } = this.#connection;
    const { runtime } = this;
    const { table, shards, maxClockSkewMs } = this.options;
    const meter = createMeter();
    const total = this.#total;
    const observer: SendObserver = {
      onAttempt(attempt) {
        meter.onAttempt(attempt);
        total.onAttempt(attempt);
      },
    };
    const sender = new Sender({ driver: this.#driver, runtime, observer });
    return {
      leasehold: new Leasehold({ sender, gauge, runtime }, { table, shards, maxClockSkew: maxClockSkewMs }),
      audit: new AuditStore({ sender, runtime }, table),
      tasks: createTaskStore(sender, { table, shards }),
      operations: createTaskOperatorStore(sender, { table, shards }),
      queues: createQueueStore(sender, table),
      sessions: createSessionStore(sender, table),
      semaphores: createSemaphoreStore(sender, table),
      spent: () => meter.read().readUnits,
    };
  }

  [Symbol.dispose](): void {
    this.#connection.client.destroy();
  }
}
