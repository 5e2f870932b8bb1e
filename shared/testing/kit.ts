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
import { schedulesOf } from '../client/schedules-of.ts';
import { createScheduleStore } from '../tasks/rows/dynamo-schedule-store.ts';
import type { ScheduleStore } from '../tasks/schedule/schedule.ts';
import { enqueueDueOccurrences } from '../tasks/dispatch/recur.ts';
import { splitKey } from '../dynamo/engine/keys.ts';
import type { SendObserver } from '../dynamo/engine/send.ts';
import { Sender } from '../dynamo/engine/send.ts';
import type { Refusal } from '../coordination/lock/lock-record.ts';
import type { Limited } from '../coordination/ratelimit/rate-limiter.ts';
import type { Full } from '../coordination/semaphore/semaphore-contender.ts';
import type { TaskStores } from '../client/task-stores.ts';
import { createTaskStores } from '../client/task-stores.ts';
import { ensureNode } from '../core/environment.ts';
import { ConfigurationError, assert } from '../core/errors.ts';
import type { Duration } from '../core/validate/duration.ts';
import { durationMs } from '../core/validate/duration.ts';
import { validName, validOptions } from '../core/validate/options.ts';
import { noSkewGauge } from '../core/lease/skew.ts';
import { Leasehold } from '../client/leasehold.ts';
import { systemIds } from '../core/runtime/ids.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import type { TaskClient } from '../client/task-client.ts';
import type { TaskLog } from '../tasks/task/context.ts';
import type { TaskReference } from '../tasks/task/task-request.ts';
import { spawn } from '../tasks/task/task-request.ts';
import type { TaskEvents } from '../tasks/run/events.ts';
import type { TaskMiddleware } from '../tasks/task/middleware.ts';
import type { TaskOperator } from '../tasks/queue/task-operator.ts';
import type { PayloadStore } from '../tasks/task/payload.ts';
import { MAX_EPOCH_MS, validMoment } from '../core/validate/moment.ts';
import type { ScheduleClient } from '../tasks/schedule/schedule-client.ts';
import type { TaskSchedule } from '../tasks/schedule/declaration.ts';
import { isPausedTenant } from '../tasks/task/queue-store.ts';
import type { TaskRecord } from '../tasks/task/task.ts';
import { DEFAULT_QUEUE } from '../tasks/task/task.ts';
import { openTelemetry } from '../tasks/tracing/open-telemetry.ts';
import { TaskSpans } from '../tasks/tracing/task-spans.ts';
import { taskModuleOf } from '../tasks/run/task-module.ts';
import type { TaskTimes } from '../tasks/worker/tally.ts';
import { warn } from '../core/runtime/host.ts';
import type { EndedAttempt } from './attempt-watch.ts';
import { describeFailures } from './attempt-watch.ts';
import type { CrashPoint } from './crash-points.ts';
import { CRASH_POINTS } from './crash-points.ts';
import type { CrashRig, CrashRun, EveryCrashOptions, EveryCrashReport } from './every-crash.ts';
import { everyCrash, validCrashOptions } from './every-crash.ts';
import type { FakeClock } from './fake-clock.ts';
import type { DrainReport, WorkOptions } from './kit-worker.ts';
import { KitWorkers, SHARDS, together } from './kit-worker.ts';
import { memoryDynamo } from './memory-table.ts';
import { ProcessWaiters } from './process-waiters.ts';
import { ProcessClock, ProcessDriver, WorkerProcess, WorkersLife, currentProcess } from './worker-process.ts';
import type { SimulatedDynamo } from './simulated-dynamo/simulated-dynamo.ts';
import type { TestTable } from './test-table.ts';
import { TABLE, definitionOf } from './test-table.ts';

export interface TestKitOptions {
  /**
   * The exports of the module that defines the tasks, with its schedules, or any record of tasks. Default: no tasks, only locks, sessions
   * and the rest.
   */
  readonly tasks?: Readonly<Record<string, unknown>>;
  readonly queue?: string;
  /**
   * Other queues on the same table, with the exports of their modules. `drain`, `runOnce`, `tick` and `everyCrash` work on all queues, this
   * kit's own first.
   */
  readonly queues?: Readonly<Record<string, { readonly tasks: Readonly<Record<string, unknown>> }>>;
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

const KIT_OPTIONS = [
  'tasks',
  'queue',
  'queues',
  'startsAt',
  'concurrency',
  'random',
  'payloads',
  'tables',
  'middleware',
  'events',
  'onTimed',
  'log',
] as const;
const WORK_OPTIONS = ['timePasses', 'lifetime'] as const;

const STARTS_AT = new Date('2026-01-01T00:00:00Z');

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
  /** Replaced when `everyCrash` puts the rows back. */
  #dynamo: SimulatedDynamo;
  readonly #options: TestKitOptions;
  readonly #queue: string;
  /** By queue, the kit's own first. */
  readonly #workers: ReadonlyMap<string, KitWorkers>;
  readonly #runtime: Runtime;
  readonly #concurrency: number;
  readonly #schedules: readonly TaskSchedule[] = [];
  #defined: Promise<unknown> | undefined;
  readonly #stores: TaskStores;
  readonly #scheduleStore: ScheduleStore;
  readonly #spans = new TaskSpans(openTelemetry);

  /** @throws ConfigurationError */
  constructor(options: TestKitOptions) {
    ensureNode();
    validOptions('the options of createTestKit', options, KIT_OPTIONS);
    const { queue = DEFAULT_QUEUE, startsAt = STARTS_AT, random = () => 0.5, concurrency = 1 } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1)
      throw new ConfigurationError(`concurrency = ${concurrency}: must be a whole number from 1`);
    this.clock = new ProcessClock(new Date(validMoment('startsAt', startsAt)));
    this.#options = options;
    this.#queue = queue;
    this.#concurrency = concurrency;
    this.#runtime = { clock: this.clock, random: { next: random }, ids: systemIds };
    const runtime = this.#runtime;
    this.#dynamo = this.#emptyTables();
    const observer: SendObserver = {
      onAttempt({ statement }) {
        currentProcess()?.life.verbs.push(statement.verb);
      },
    };
    const sender = new Sender({ driver: new ProcessDriver(() => this.#dynamo), runtime, observer });
    this.#stores = createTaskStores(sender, { table: TABLE, shards: SHARDS });
    this.#scheduleStore = createScheduleStore(sender, { table: TABLE, shards: SHARDS });
    const waiters = {
      locks: new ProcessWaiters<Refusal>(this.clock),
      semaphores: new ProcessWaiters<Full>(this.clock),
      tokens: new ProcessWaiters<Limited>(this.clock),
    };
    const foundation = { sender, runtime, gauge: noSkewGauge, waiters };
    const modules = { [queue]: { tasks: options.tasks }, ...options.queues };
    const schedules: TaskSchedule[] = [];
    const settings = { table: TABLE, queue, shards: SHARDS, payloads: options.payloads };
    const workers = Object.entries(modules).map(([name, { tasks: exports }]) => {
      const { middleware, events, payloads: given } = options;
      const work = exports === undefined ? undefined : taskModuleOf(exports, { middleware, events, payloads: given });
      const payloads = work?.payloads ?? given;
      schedules.push(
        ...(work?.schedules ?? []).map((each) => ({ ...each, options: { queue: name, ...each.options } })),
      );
      if (name === queue) settings.payloads = payloads;
      const one = new KitWorkers(work?.registry ?? new Map(), {
        ...options,
        payloads,
        client: { foundation, settings: { ...settings, queue: validName('queue', name), payloads } },
        stores: this.#stores,
        runtime,
        clock: this.clock,
        queue: name,
        spans: this.#spans,
        events: work?.events,
      });
      return [name, one] as const;
    });
    this.#workers = new Map(workers);
    this.#schedules = schedules;
    this.leasehold = new Leasehold(foundation, settings);
    this.tasks = this.leasehold.tasks;
    this.operator = this.leasehold.operator;
    this.schedules = schedulesOf(this.leasehold);
  }

  /** Runs all due tasks, and tasks that become due as a result. Delayed tasks stay: advance the clock and drain again. */
  async drain(options: WorkOptions = {}): Promise<DrainReport> {
    validOptions('the options of drain', options, WORK_OPTIONS);
    const report = await this.#work({ ...options, concurrency: this.#concurrency });
    // A log has each failure already.
    const failure = this.#options.log === undefined ? describeFailures(report.tasks) : undefined;
    if (failure !== undefined) warn(failure);
    return report;
  }

  /** Runs one attempt of one task, the first that is due. */
  async runOnce(options: WorkOptions = {}): Promise<DrainReport> {
    validOptions('the options of runOnce', options, WORK_OPTIONS);
    return this.#work({ ...options, concurrency: 1, attempts: 1 });
  }

  /**
   * Like `runOnce`, but the worker crashes at the given point.
   * Its task is taken over once its session has expired: let time pass.
   * @throws ConfigurationError if no task is due
   */
  async crash(point: CrashPoint): Promise<DrainReport> {
    if (!CRASH_POINTS.includes(point))
      throw new ConfigurationError(`crash = ${JSON.stringify(point)}: must be one of ${CRASH_POINTS.join(', ')}`);
    const report = await this.#work({ concurrency: 1, attempts: 1, crash: point });
    if (report.claimed === 0)
      throw new ConfigurationError(
        `crash(${JSON.stringify(point)}): no task of queue ${this.#queues.join(' or ')} is due, so nothing crashed`,
      );
    return report;
  }

  /**
   * Runs a task to its end twice for each request that its workers send: the worker is killed before the request is sent, or after the
   * request was applied but before its answer. Then other workers end the task, and `check` tests the result.
   * A first run, without a crash, is checked too. Every run starts from the rows and the time at the call, and both are put back at
   * the end. If the task, or one that it creates, is due only later, time passes.
   * @throws the error of `check`, with the request after which it failed
   * @throws ConfigurationError if the task does not send the same requests in each run, or no worker claims it
   */
  async everyCrash<Given>(
    task: TaskReference<Given>,
    input: NoInfer<Given>,
    check: (run: CrashRun) => unknown,
    options: EveryCrashOptions = {},
  ): Promise<EveryCrashReport> {
    const { before, enqueue, children, only, idle, ...workOptions } = validCrashOptions(options);
    await this.#define();
    const tables = [TABLE, ...this.#ownTables()].map((table) => [table, this.#dynamo.scan(table)] as const);
    const startsAt = this.clock.now();
    const others = new Set(this.#unfinished().map(({ pk }) => pk));
    const left = () => this.#unfinished().filter(({ pk }) => !others.has(pk));
    let id = '';
    const rig: CrashRig = {
      idle,
      restore: () => {
        this.#dynamo = this.#emptyTables();
        for (const [table, rows] of tables)
          for (const Item of rows) this.#dynamo.apply('put', { TableName: table, Item });
        this.clock.setWallClock(new Date(startsAt));
        for (const workers of this.#workers.values()) workers.forget();
      },
      begin: async (killAt) => {
        await before?.();
        const asked = { id: 'every-crash', ...enqueue };
        ({ id } = asked);
        if (children === undefined) await this.tasks.enqueue(task, input, asked);
        else
          await this.tasks.enqueueBatch(children, {
            id,
            queue: this.#queue,
            then: spawn<unknown>(task as TaskReference<unknown>, input, asked),
          });
        return new WorkersLife(killAt);
      },
      work: async (life) => {
        const ended: EndedAttempt[] = [];
        for (const workers of this.#workers.values()) {
          const report = await workers.workIn(new WorkerProcess(life), { ...workOptions, concurrency: 1 });
          ended.push(...(report?.tasks ?? []));
        }
        return ended;
      },
      pass: (ms) => this.clock.advance(ms),
      task: () => this.tasks.get(id, enqueue?.queue),
      isIdle: () => left().length === 0,
      untilDueMs: () => this.#untilDueMs(),
      obstacle: () => this.#obstacleTo(left()),
    };
    return everyCrash(rig, check, only);
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
    await this.#define();
    await this.clock.advance(durationMs('span', span));
  }

  /** Runs the schedule part of a dispatcher tick. @returns how many tasks were created for occurrences */
  async tick(): Promise<number> {
    await this.#define();
    const ports = { ...this.#stores, schedules: this.#scheduleStore, runtime: this.#runtime, spans: this.#spans };
    let made = 0;
    for (const queue of this.#queues)
      made += await enqueueDueOccurrences(queue, ports, (error) => {
        throw error;
      });
    return made;
  }

  /** Works on the queues one after the other, until all are drained: a task of one may add some to another. */
  async #work(plan: Parameters<KitWorkers['work']>[0]): Promise<DrainReport> {
    await this.#define();
    const all = [...this.#workers.values()];
    const reports: DrainReport[] = [];
    for (let quiet = 0; quiet < all.length;) {
      const worker = all[reports.length % all.length];
      assert(worker !== undefined, 'a kit has its own queue');
      const report = await worker.work(plan);
      reports.push(report);
      quiet = report.claimed + report.expired + report.markedDead === 0 || all.length === 1 ? quiet + 1 : 1;
      if (plan.attempts !== undefined && report.claimed > 0) break;
    }
    return reports.reduce(together);
  }

  get #queues(): readonly string[] {
    return [...this.#workers.keys()];
  }

  #emptyTables(): SimulatedDynamo {
    const dynamo = memoryDynamo(TABLE, () => this.clock.now());
    for (const table of this.#options.tables ?? []) dynamo.createTable(definitionOf(table));
    return dynamo;
  }

  #ownTables(): readonly string[] {
    return (this.#options.tables ?? []).map((table) => table.name);
  }

  /** Tasks that wait or run. Their entries are in different indexes, or in none. */
  #unfinished(): readonly Readonly<Record<string, unknown>>[] {
    return this.#dynamo.scan(TABLE).filter(({ state }) => state === 'ready' || state === 'running');
  }

  /** A task that waits for others is due at the end of time. */
  #untilDueMs(): number {
    const now = this.clock.now();
    const unfinished = this.#unfinished();
    // Its worker is dead, and its session has yet to expire.
    if (unfinished.some(({ state }) => state === 'running')) return 0;
    const moments = unfinished.map(({ readyAt }) => Number(readyAt));
    const next = Math.min(...moments.filter((at) => now < at && at < MAX_EPOCH_MS));
    return next === Infinity ? 0 : next - now;
  }

  async #obstacleTo(tasks: readonly Readonly<Record<string, unknown>>[]): Promise<string | undefined> {
    for (const row of tasks as readonly (Pick<TaskRecord, 'queue' | 'tenant'> & { readonly pk: string })[]) {
      const { pk, queue, tenant } = row;
      const id = splitKey(pk)[2];
      if (!this.#workers.has(queue))
        return (
          `${id} is in queue ${queue}, and the workers of this kit work on queue ${this.#queues.join(' and ')}: ` +
          'pass its module in the option queues'
        );
      const record = await this.#stores.queues.get(queue);
      if (record?.isPaused === true) return `the queue of ${id} is paused: ${record.reason}`;
      if (isPausedTenant(record, tenant)) return `tenant ${tenant} of ${id} is paused`;
    }
    return undefined;
  }

  /** Defines the schedules that the module exports, as its worker does when it starts. */
  #define(): Promise<unknown> {
    this.#defined ??= this.schedules.defineAll(this.#schedules);
    return this.#defined;
  }

  #ensureTable(name: string): void {
    const names = [TABLE, ...this.#ownTables()];
    if (!names.includes(name))
      throw new ConfigurationError(
        `there is no table ${JSON.stringify(name)}: the kit has ${names.join(', ')}, name others in its option tables`,
      );
  }
}
