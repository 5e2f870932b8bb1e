/**
 * A queue for the tests of those who write tasks: the shipped code on a table in memory, with a clock that the test moves.
 *
 *   const kit = createTestKit({ tasks: { resize } });
 *   await kit.tasks.enqueue(resize, { key: 'a.png' });
 *   await kit.drain();
 *   expect(await kit.tasks.get(id)).toMatchObject({ state: 'done' });
 *
 * Nothing here is a mock of the queue: leases, retries, batches and limits are what runs in production.
 * Time stands still while task code runs, unless the test lets it pass; between attempts it moves by itself as far as it has to.
 */
import { enqueueDueSlots } from '../shared/dispatch/recur.ts';
import { createQueueStore } from '../shared/dynamo/queue-store.ts';
import { createScheduleStore } from '../shared/dynamo/schedule-store.ts';
import { Sender } from '../shared/dynamo/send.ts';
import { createSessionStore } from '../shared/dynamo/session-store.ts';
import { createTaskOperatorStore } from '../shared/dynamo/task-operator-store.ts';
import { createTaskStore } from '../shared/dynamo/task-store.ts';
import { LeaseLostError } from '../shared/errors.ts';
import type { Duration } from '../shared/lease/duration.ts';
import { durationMs } from '../shared/lease/duration.ts';
import { noSkewGauge } from '../shared/lease/skew.ts';
import { sessionTiming } from '../shared/lease/timing.ts';
import { systemIds } from '../shared/runtime/ids.ts';
import type { Runtime } from '../shared/runtime/runtime.ts';
import { SessionHolder } from '../shared/session/holder.ts';
import type { SessionStore } from '../shared/session/store.ts';
import { DEFAULT_QUEUE, TaskClient } from '../shared/task/client.ts';
import type { TaskLog } from '../shared/task/context.ts';
import type { AnyTask, TaskRegistry } from '../shared/task/definition.ts';
import { registerTasks } from '../shared/task/definition.ts';
import { TaskOperator } from '../shared/task/operator.ts';
import type { QueueStore } from '../shared/task/queue-store.ts';
import { ScheduleClient } from '../shared/task/schedule-client.ts';
import type { ScheduleStore } from '../shared/task/schedule-store.ts';
import type { TaskStore } from '../shared/task/store.ts';
import type { WorkerReport } from '../shared/task/worker.ts';
import { runWorker } from '../shared/task/worker.ts';
import { FakeClock } from './fake-clock.ts';
import { memoryDynamo } from './memory-table.ts';
import { simulatedDriver } from './simulated-dynamo/driver.ts';

export interface TestKitOptions {
  /** The exports of the module that defines the tasks, or any record of them. */
  readonly tasks: Readonly<Record<string, unknown>>;
  readonly queue?: string;
  readonly startsAt?: Date;
  /** Tasks at work side by side in `drain`; one by one when absent, so that their order is that of the queue. */
  readonly concurrency?: number;
  /** The chance of jitter and shuffling, in [0, 1); a half when absent: the same in every run. */
  readonly random?: () => number;
  readonly log?: TaskLog;
}

/**
 * Where a worker dies in `crash`:
 * `beforeRun`     it has claimed a task, and its code has not begun.
 * `beforeSettle`  the code has ended, and nobody has heard of it: what it wrote elsewhere is written, its commit is not.
 */
export type CrashPoint = 'beforeRun' | 'beforeSettle';

const TABLE = 'leasehold';
const SHARDS = 1;
const TTL_MS = 30_000;
const STARTS_AT = new Date('2026-01-01T00:00:00Z');
const silent: TaskLog = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export function createTestKit(options: TestKitOptions): TestKit {
  return new TestKit(options);
}

export class TestKit {
  readonly clock: FakeClock;
  readonly tasks: TaskClient;
  readonly operator: TaskOperator;
  readonly schedules: ScheduleClient;
  readonly #queue: string;
  readonly #registry: TaskRegistry;
  readonly #runtime: Runtime;
  readonly #concurrency: number;
  readonly #log: TaskLog;
  readonly #stores: {
    readonly tasks: TaskStore;
    readonly sessions: SessionStore;
    readonly queues: QueueStore;
    readonly schedules: ScheduleStore;
  };
  /** Task code at work: time stands still for it. */
  #running = 0;

  constructor(options: TestKitOptions) {
    const { queue = DEFAULT_QUEUE, startsAt = STARTS_AT, random = () => 0.5 } = options;
    this.clock = new FakeClock(startsAt);
    this.#queue = queue;
    this.#runtime = { clock: this.clock, random: { next: random }, ids: systemIds };
    this.#registry = this.#watched(registerTasks(options.tasks));
    this.#concurrency = options.concurrency ?? 1;
    this.#log = options.log ?? silent;
    const runtime = this.#runtime;
    const dynamo = memoryDynamo(TABLE, () => this.clock.now());
    const sender = new Sender({ driver: simulatedDriver(dynamo), runtime });
    this.#stores = {
      tasks: createTaskStore(sender, { table: TABLE, shards: SHARDS }),
      sessions: createSessionStore(sender, TABLE),
      queues: createQueueStore(sender, TABLE),
      schedules: createScheduleStore(sender, TABLE),
    };
    const operations = createTaskOperatorStore(sender, { table: TABLE, shards: SHARDS });
    this.tasks = new TaskClient({ store: this.#stores.tasks, runtime }, { queue });
    this.operator = new TaskOperator({ ...this.#stores, operations, runtime, gauge: noSkewGauge }, { queue });
    this.schedules = new ScheduleClient({ schedules: this.#stores.schedules, runtime }, { queue });
  }

  /** Runs what is due, and what becomes due because of it, until nothing is. What waits for later stays: let time pass, and drain again. */
  drain(): Promise<WorkerReport> {
    return this.#work({ concurrency: this.#concurrency });
  }

  /** Runs one attempt of one task, the first that is due. */
  runOnce(): Promise<WorkerReport> {
    return this.#work({ concurrency: 1, attempts: 1 });
  }

  /** As `runOnce`, by a worker that dies at the given point without a word. Its task is taken over once its session has expired: let time pass. */
  crash(point: CrashPoint): Promise<WorkerReport> {
    return this.#work({ concurrency: 1, attempts: 1, crash: point });
  }

  /** Lets time pass: retries and delayed tasks become due, sessions of the dead expire. */
  async advance(span: Duration): Promise<void> {
    await this.clock.advance(durationMs('span', span));
  }

  /** What the dispatcher does for schedules with each tick. @returns how many tasks were made of slots */
  tick(): Promise<number> {
    return enqueueDueSlots(this.#queue, { ...this.#stores, runtime: this.#runtime }, (error) => {
      throw error;
    });
  }

  async #work(plan: {
    readonly concurrency: number;
    readonly attempts?: number;
    readonly crash?: CrashPoint;
  }): Promise<WorkerReport> {
    const timing = sessionTiming({ ttlMs: TTL_MS, lockDelayMs: 0 });
    const session = await SessionHolder.create(
      { timing, name: 'test', node: 'test', behaviour: 'release' },
      { store: this.#stores.sessions, runtime: this.#runtime },
    );
    const handBack = new AbortController();
    const tasks = limited(this.#stores.tasks, plan.attempts ?? Infinity, () => {
      handBack.abort();
    });
    const die = (): never => {
      const lost = new LeaseLostError(`session ${session.id}`, 'expired', 'the test killed its worker');
      session.markLost(lost);
      throw lost;
    };
    const registry = plan.crash === undefined ? this.#registry : dying(this.#registry, plan.crash, die);
    const settings = {
      ...{ queue: this.#queue, shards: SHARDS, homeShards: [0], concurrency: plan.concurrency },
      ...{ pollMs: 100, graceMs: 1_000, deadlineMonotonicMs: Infinity },
    };
    const ports = { ...this.#stores, tasks, session, runtime: this.#runtime, gauge: noSkewGauge, log: this.#log };
    // A worker that is told to go home hands back what it runs; here it only claims no more.
    const workAndEnd = async (): Promise<WorkerReport> => {
      const report = await runWorker(registry, ports, settings, handBack.signal);
      await session.end();
      return report;
    };
    return this.clock.runUntil(workAndEnd(), () => this.#running === 0);
  }

  #watched(registry: TaskRegistry): TaskRegistry {
    return mapTasks(registry, (definition) => ({
      ...definition,
      run: async (input, task) => {
        this.#running++;
        try {
          return await definition.run(input, task);
        } finally {
          this.#running--;
        }
      },
    }));
  }
}

const NOT_NOW = { kind: 'refused', current: undefined, earlierAttempt: 'none' } as const;

/** A store through which only so many tasks can be claimed. */
function limited(store: TaskStore, attempts: number, onSpent: () => void): TaskStore {
  let left = attempts;
  const spend = <T extends { readonly kind: string }>(outcome: T): T => {
    if (outcome.kind === 'applied') left--;
    return outcome;
  };
  return {
    ...store,
    page: (partition, query) => {
      if (left > 0) return store.page(partition, query);
      onSpent();
      return Promise.resolve({ hints: [], next: undefined });
    },
    claim: async (...claim) => (left > 0 ? spend(await store.claim(...claim)) : NOT_NOW),
    takeOver: async (...claim) => (left > 0 ? spend(await store.takeOver(...claim)) : NOT_NOW),
  };
}

/** Tasks whose worker dies before, or after, their code. */
function dying(registry: TaskRegistry, point: CrashPoint, die: () => never): TaskRegistry {
  return mapTasks(registry, (definition) => ({
    ...definition,
    run: async (input, task) => {
      if (point === 'beforeSettle') await definition.run(input, { ...task, commit: die, snooze: die, waitFor: die });
      return die();
    },
  }));
}

function mapTasks(registry: TaskRegistry, change: (definition: AnyTask) => AnyTask): TaskRegistry {
  return new Map([...registry].map(([name, definition]) => [name, change(definition)]));
}

function ignore(): void {
  // A test that wants to see the log gives its own.
}
