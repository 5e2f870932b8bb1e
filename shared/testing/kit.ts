/**
 * Test kit for task authors: the real library on an in-memory table with a clock that the test controls.
 *
 *   const kit = createTestKit({ tasks: { resize } });
 *   const { id } = await kit.tasks.enqueue(resize, { key: 'a.png' });
 *   await kit.drain();
 *   expect(await kit.tasks.get(id)).toMatchObject({ state: 'done' });
 *
 * The queue is not mocked: leases, retries, batches and limits run the production code.
 * The clock stops while task code runs, unless the test advances it. Between attempts it advances automatically.
 */
import { enqueueDueSlots } from '../tasks/dispatch/recur.ts';
import { Sender } from '../dynamo/engine/send.ts';
import type { TaskStores } from '../client/task-stores.ts';
import { createTaskStores } from '../client/task-stores.ts';
import { ensureNode } from '../core/environment.ts';
import { ConfigurationError, LeaseLostError } from '../core/errors.ts';
import type { Duration } from '../core/validate/duration.ts';
import { durationMs, givenMs } from '../core/validate/duration.ts';
import { validName } from '../core/validate/name.ts';
import { validOptions } from '../core/validate/options.ts';
import { noSkewGauge } from '../core/lease/skew.ts';
import { sessionTiming } from '../core/lease/timing.ts';
import { Leasehold } from '../client/leasehold.ts';
import { systemClock } from '../core/runtime/clock.ts';
import { warn } from '../core/runtime/host.ts';
import { systemIds } from '../core/runtime/ids.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import { SessionHolder } from '../session/keep-alive.ts';
import type { TaskClient } from '../tasks/queue/task-client.ts';
import type { TaskLog } from '../tasks/task/context.ts';
import { HandedBackError } from '../tasks/task/control.ts';
import type { AnyTask, TaskRegistry } from '../tasks/task/definition.ts';
import type { TaskEvents } from '../tasks/run/events.ts';
import type { TaskMiddleware } from '../tasks/task/middleware.ts';
import type { TaskOperator } from '../tasks/queue/task-operator.ts';
import type { PayloadStore } from '../tasks/task/payload.ts';
import { validMoment } from '../core/validate/moment.ts';
import type { ScheduleClient } from '../tasks/schedule/schedule-client.ts';
import type { TaskAndPackStore } from '../tasks/bulk/pack-store.ts';
import { DEFAULT_QUEUE } from '../tasks/task/task.ts';
import { openTelemetry } from '../tasks/tracing/open-telemetry.ts';
import { TaskSpans } from '../tasks/tracing/task-spans.ts';
import { workModule } from '../tasks/run/work-module.ts';
import type { TaskTimes } from '../tasks/worker/tally.ts';
import type { WorkerReport } from '../tasks/worker/worker.ts';
import { runWorker } from '../tasks/worker/worker.ts';
import { FakeClock } from './fake-clock.ts';
import { memoryDynamo } from './memory-table.ts';
import { simulatedDriver } from './simulated-dynamo/driver.ts';
import type { SimulatedDynamo } from './simulated-dynamo/simulated-dynamo.ts';
import type { TableDefinition } from './simulated-dynamo/table-definition.ts';

export interface TestKitOptions {
  /** The exports of the module that defines the tasks, or any record of them. Default: no tasks, only locks, sessions and the rest. */
  readonly tasks?: Readonly<Record<string, unknown>>;
  readonly queue?: string;
  readonly startsAt?: Date;
  /** Concurrency of `drain`. Default: 1, so tasks run in queue order. */
  readonly concurrency?: number;
  /** Random numbers for jitter and shuffling, in [0, 1). Default: always 0.5, so every run is the same. */
  readonly random?: () => number;
  /** Where inputs go that do not fit into the table, such as `new MemoryPayloads()`; refused when absent, as in production. */
  readonly payloads?: PayloadStore;
  /** Your own tables, which commits may write to. */
  readonly tables?: readonly TestTable[];
  /** Middleware around every attempt, nested inside the middleware that the task module exports. */
  readonly middleware?: readonly TaskMiddleware[];
  /** Called after the `events` that the module exports. */
  readonly events?: TaskEvents;
  /** Told how long tasks waited and ran, by the kit's clock. */
  readonly onTimed?: (name: string, times: TaskTimes) => void;
  readonly log?: TaskLog;
}

/** A table whose keys are texts. */
export interface TestTable {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey?: string;
}

export interface WorkOptions {
  /**
   * Advances the clock while task code runs, so code that hangs hits its timeout, or the end of its worker's lifetime,
   * which is then 15 minutes by default. Default: false, the clock stops while task code runs.
   */
  readonly timePasses?: boolean;
  /** The worker's lifetime: at its end the worker hands back its running tasks, and aborts the signal of code that lets time pass. */
  readonly lifetime?: Duration;
}

/**
 * The moment at which a worker crashes in `crash`:
 * `beforeRun`     after it has claimed a task, and before the task code starts.
 * `beforeSettle`  after the task code returns and before its result is stored. Writes to other systems happened; the commit did not.
 * `afterSettle`   after the result is stored and before the worker receives the response. The task is finished.
 */
export type CrashPoint = 'beforeRun' | 'beforeSettle' | 'afterSettle';

const CRASH_POINTS: readonly CrashPoint[] = ['beforeRun', 'beforeSettle', 'afterSettle'];

const KIT_OPTIONS = {
  tasks: true,
  queue: true,
  startsAt: true,
  concurrency: true,
  random: true,
  payloads: true,
  tables: true,
  middleware: true,
  events: true,
  onTimed: true,
  log: true,
} as const;
const WORK_OPTIONS = { timePasses: true, lifetime: true } as const;

const TABLE = 'leasehold';
const SHARDS = 1;
const TTL_MS = 30_000;
/** For task code to stop after its signal is aborted. */
const GRACE_MS = 1_000;
const STARTS_AT = new Date('2026-01-01T00:00:00Z');
const silent: TaskLog = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export function createTestKit(options: TestKitOptions = {}): TestKit {
  return new TestKit(options);
}

/** A queue on an in-memory table: enqueue tasks, run or crash workers, move the clock, check the results. */
export class TestKit {
  readonly clock: FakeClock;
  /** The whole library on the same table and clock: locks, semaphores, rate limits, sessions. */
  readonly leasehold: Leasehold;
  readonly tasks: TaskClient;
  readonly operator: TaskOperator;
  readonly schedules: ScheduleClient;
  readonly #dynamo: SimulatedDynamo;
  readonly #options: TestKitOptions;
  readonly #queue: string;
  readonly #registry: TaskRegistry;
  readonly #events: TaskEvents | undefined;
  readonly #runtime: Runtime;
  readonly #concurrency: number;
  readonly #stores: TaskStores;
  readonly #spans = new TaskSpans(openTelemetry);
  /** Running task code by name and id, while the clock is stopped. */
  readonly #running = new Set<string>();

  /** @throws ConfigurationError */
  constructor(options: TestKitOptions) {
    ensureNode();
    validOptions('the options of createTestKit', options, KIT_OPTIONS);
    const { queue = DEFAULT_QUEUE, startsAt = STARTS_AT, random = () => 0.5, concurrency = 1, payloads } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1)
      throw new ConfigurationError(`concurrency = ${concurrency}: give a whole number from 1`);
    this.clock = new FakeClock(new Date(validMoment('startsAt', startsAt)));
    this.#options = options;
    this.#queue = queue;
    this.#concurrency = concurrency;
    this.#runtime = { clock: this.clock, random: { next: random }, ids: systemIds };
    const { tasks: exports, middleware, events } = options;
    const work = exports === undefined ? undefined : workModule(exports, { middleware, events });
    this.#registry = this.#watched(work?.registry ?? new Map());
    this.#events = work?.events;
    const runtime = this.#runtime;
    this.#dynamo = memoryDynamo(TABLE, () => this.clock.now());
    for (const table of options.tables ?? []) this.#dynamo.createTable(definitionOf(table));
    const sender = new Sender({ driver: simulatedDriver(this.#dynamo), runtime });
    this.#stores = createTaskStores(sender, { table: TABLE, shards: SHARDS });
    this.leasehold = new Leasehold(
      { sender, runtime, gauge: noSkewGauge },
      { table: TABLE, queue, shards: SHARDS, payloads },
    );
    this.tasks = this.leasehold.tasks;
    this.operator = this.leasehold.operator;
    this.schedules = this.leasehold.schedules;
  }

  /** Runs tasks until none is due, including those that become due as a result. Delayed tasks stay: advance the clock and drain again. */
  drain(options: WorkOptions = {}): Promise<WorkerReport> {
    validOptions('the options of drain', options, WORK_OPTIONS);
    return this.#work({ ...options, concurrency: this.#concurrency });
  }

  /** Runs one attempt of one task, the first that is due. */
  runOnce(options: WorkOptions = {}): Promise<WorkerReport> {
    validOptions('the options of runOnce', options, WORK_OPTIONS);
    return this.#work({ ...options, concurrency: 1, attempts: 1 });
  }

  /**
   * Like `runOnce`, but the worker crashes at the given point.
   * Its task is taken over once its session has expired: let time pass.
   */
  async crash(point: CrashPoint): Promise<WorkerReport> {
    if (!CRASH_POINTS.includes(point))
      throw new ConfigurationError(`crash = ${JSON.stringify(point)}: give one of ${CRASH_POINTS.join(', ')}`);
    return this.#work({ concurrency: 1, attempts: 1, crash: point });
  }

  /** Returns the rows of one of your tables, in no particular order. */
  rows(table: string): readonly Readonly<Record<string, unknown>>[] {
    this.#ensureTable(table);
    return this.#dynamo.scan(table);
  }

  /** Puts a row into one of your tables. */
  put(table: string, row: Readonly<Record<string, unknown>>): void {
    this.#ensureTable(table);
    this.#dynamo.apply('put', { TableName: table, Item: { ...row } });
  }

  /** Advances the clock: retries and delayed tasks become due, sessions of crashed workers expire. */
  async advance(span: Duration): Promise<void> {
    await this.clock.advance(durationMs('span', span));
  }

  /** Runs the schedule part of a dispatcher tick. @returns how many tasks were created for scheduled runs */
  tick(): Promise<number> {
    const spans = this.#spans;
    return enqueueDueSlots(this.#queue, { ...this.#stores, runtime: this.#runtime, spans }, (error) => {
      throw error;
    });
  }

  #ensureTable(name: string): void {
    const names = [TABLE, ...(this.#options.tables ?? []).map((table) => table.name)];
    if (!names.includes(name))
      throw new ConfigurationError(
        `there is no table ${JSON.stringify(name)}: the kit has ${names.join(', ')}, name others in its option tables`,
      );
  }

  async #work(
    plan: WorkOptions & { readonly concurrency: number; readonly attempts?: number; readonly crash?: CrashPoint },
  ): Promise<WorkerReport> {
    const { timePasses = false, lifetime = timePasses ? LAMBDA_LIFE_MS : undefined } = plan;
    const lifetimeMs = givenMs('lifetime', lifetime) ?? Infinity;
    const timing = sessionTiming({ ttlMs: TTL_MS, lockDelayMs: 0 });
    const session = await SessionHolder.create(
      { timing, name: 'test', node: 'test', behaviour: 'release' },
      { store: this.#stores.sessions, runtime: this.#runtime, gauge: noSkewGauge },
    );
    const handBack = new AbortController();
    const tasks = limited(this.#stores.tasks, plan.attempts ?? Infinity, () => handBack.abort());
    const lost = new LeaseLostError(`session ${session.id}`, 'expired', 'the test killed its worker');
    const die = (): never => {
      session.markLost(lost);
      throw lost;
    };
    const registry = plan.crash === undefined ? this.#registry : dying(this.#registry, plan.crash, die);
    const settings = {
      queue: this.#queue,
      shards: SHARDS,
      homeShards: [0],
      concurrency: plan.concurrency,
      pollMs: 100,
      graceMs: GRACE_MS,
      deadlineMonotonicMs: this.clock.monotonic() + lifetimeMs,
    };
    const { log = silent, payloads } = this.#options;
    const events = this.#events;
    const ports = {
      ...this.#stores,
      tasks,
      payloads,
      session,
      runtime: this.#runtime,
      gauge: noSkewGauge,
      log,
      spans: this.#spans,
      onTimed: this.#options.onTimed,
      events:
        plan.crash === 'afterSettle'
          ? {
              ...events,
              onSettled: () => session.markLost(lost),
            }
          : events,
    };
    const isOver = new AbortController();
    if (lifetimeMs < Infinity)
      void this.clock.sleep(Math.max(0, lifetimeMs - GRACE_MS), isOver.signal).then(() => {
        if (!isOver.signal.aborted)
          handBack.abort(new HandedBackError('the life of its worker is over', { isDeadline: true }));
      });
    // At the end of its lifetime a worker hands back its running tasks; after `attempts` it only stops claiming.
    const workAndEnd = async (): Promise<WorkerReport> => {
      try {
        const report = await runWorker(registry, ports, settings, handBack.signal);
        await session.end();
        return report;
      } finally {
        isOver.abort();
      }
    };
    const stopWatching = systemClock.after(PATIENCE_MS, () => {
      if (!timePasses && this.#running.size > 0) warn(stillRunning([...this.#running]));
    });
    try {
      return await this.clock.runUntil(workAndEnd(), () => timePasses || this.#running.size === 0);
    } finally {
      stopWatching();
    }
  }

  #watched(registry: TaskRegistry): TaskRegistry {
    return mapTasks(registry, (definition) => ({
      ...definition,
      run: async (input, task) => {
        const name = `${definition.name} ${task.id}`;
        this.#running.add(name);
        try {
          return await definition.run(input, task);
        } finally {
          this.#running.delete(name);
        }
      },
    }));
  }
}

/** Real time, shorter than the timeouts of test runners, which end the test without a reason. */
const PATIENCE_MS = 3_000;

function stillRunning(names: readonly string[]): string {
  return (
    `the test kit waits for the code of ${names.join(', ')}, and its clock stands still meanwhile: ` +
    'where that code waits for a time-out, give { timePasses: true }'
  );
}

/** The longest that a Lambda lives. */
const LAMBDA_LIFE_MS = 15 * 60_000;

const NOT_NOW = { kind: 'refused', current: undefined, earlierAttempt: 'none' } as const;

/** Returns a store that allows at most `attempts` claims. */
function limited(store: TaskAndPackStore, attempts: number, onSpent: () => void): TaskAndPackStore {
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
      if (point === 'afterSettle') return definition.run(input, task);
      if (point === 'beforeSettle') await definition.run(input, { ...task, commit: die, snooze: die, waitFor: die });
      return die();
    },
  }));
}

function definitionOf({ name, partitionKey, sortKey }: TestTable): TableDefinition {
  if (name === TABLE)
    throw new ConfigurationError(`a table of yours is named ${TABLE}: that is the name of the kit's own`);
  const key = (attribute: string) => ({ name: validName(`a key of table ${name}`, attribute), type: 'S' }) as const;
  return {
    name: validName('the name of a table', name),
    partition: key(partitionKey),
    ...(sortKey === undefined ? {} : { sort: key(sortKey) }),
  };
}

function mapTasks(registry: TaskRegistry, change: (definition: AnyTask) => AnyTask): TaskRegistry {
  return new Map([...registry].map(([name, definition]) => [name, change(definition)]));
}

function ignore(): void {
  // A test that wants to see the log gives its own.
}
