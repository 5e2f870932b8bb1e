/**
 * A deployed queue in simulated time: producers, the table's stream, its waker, workers that start cold or warm, and ticks.
 *
 * The shipped waker, dispatcher, worker and stores run over the exact DynamoDB in memory.
 * Their environment is modelled by its latencies (`bench/latencies.ts`):
 * the stream, an asynchronous invocation, a cold start, DynamoDB,
 * and its indexes. Lambda reads each shard of the stream with one
 * invocation at a time, which gets the records gathered since the last one; wakes may be dropped or doubled.
 */
import type { WorkEvent } from '../shared/tasks/dispatch/dispatcher.ts';
import { dispatch, workersSemaphore } from '../shared/tasks/dispatch/dispatcher.ts';
import { permitHolders, workerName } from '../shared/tasks/dispatch/live-workers.ts';
import { Waker } from '../shared/tasks/dispatch/wake.ts';
import type { DynamoItem } from '../shared/dynamo/engine/driver.ts';
import { shardOf, splitKey } from '../shared/dynamo/engine/keys.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import { Sender } from '../shared/dynamo/engine/send.ts';
import type { Stores } from '../shared/client/stores.ts';
import { createStores } from '../shared/client/stores.ts';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { sessionTiming } from '../shared/core/lease/timing.ts';
import { TaskClient } from '../shared/tasks/queue/task-client.ts';
import type { Clock } from '../shared/core/runtime/clock.ts';
import type { Runtime } from '../shared/core/runtime/runtime.ts';
import { runWithSchedules } from '../shared/client/run-with-schedules.ts';
import { SemaphoreClient } from '../shared/coordination/semaphore/semaphore-client.ts';
import { SessionHolder } from '../shared/session/keep-alive.ts';
import type { TaskRegistry } from '../shared/tasks/task/definition.ts';
import { SHORT_WAIT_MS } from '../shared/tasks/worker/stay.ts';
import { runWorker } from '../shared/tasks/worker/run-worker.ts';
import { memoryTable } from '../shared/testing/memory-table.ts';
import { SimulatedDynamo } from '../shared/testing/simulated-dynamo/simulated-dynamo.ts';
import type { Request } from '../test/support/machines/network.ts';
import { Network } from '../test/support/machines/network.ts';
import { Prng } from '../test/support/machines/prng.ts';
import { SimulatedProcess } from '../test/support/machines/process.ts';
import { Timeline } from '../test/support/machines/timeline.ts';
import { WallClock } from '../test/support/machines/wall-clock.ts';
import type { Latencies, Spread } from './latencies.ts';
import { LATENCIES } from './latencies.ts';
import { silent } from '../shared/testing/silent-log.ts';
import { openHolder } from '../test/support/open-holder.ts';

export interface FleetSettings {
  readonly seed: bigint;
  readonly registry: TaskRegistry;
  readonly maxWorkers: number;
  readonly startWithinMs: number;
  /** Concurrent tasks of one worker as planned: fewer than its real concurrency start more workers. Default: 10, its real concurrency. */
  readonly planConcurrency?: number;
  readonly latencies?: Latencies;
  /** Shards of the table's stream. */
  readonly streamShards?: number;
  readonly wakes?: 'delivered' | 'dropped' | 'doubled';
  /** Whether an environment serves again when its worker has ended. */
  readonly keepsEnvironments?: boolean;
  /** Absent: there are no ticks. */
  readonly tickEveryMs?: number;
  readonly workerLifeMs?: number;
  /** Whether a worker that nears its end hands back what runs and starts its successor, as deployed ones do. */
  readonly continues?: boolean;
  /** False: the deployment does not exist until `deploy` is called. */
  readonly isDeployed?: boolean;
}

const TABLE = 'leasehold';
export const QUEUE = 'default';
export const SHARDS = 8;
export const CONCURRENCY = 10;
const MAX_CLOCK_SKEW_MS = 1_000;
/** Lambda's limit, less the time for handing back. */
const WORKER_LIFE_MS = 890_000;
/** The worker's last seconds, in which it hands back its tasks. */
const MARGIN_MS = 10_000;
const EPOCH_MS = Date.UTC(2026, 10, 22);
/** The 99th percentile in standard deviations. */
const Z99 = 2.326;

interface Place {
  readonly runtime: Runtime;
  readonly stores: Stores;
}

/** One shard of the stream: the gathered records, and its one invocation. */
interface StreamShard {
  readonly waker: Waker;
  readonly waiting: string[];
  isBusy: boolean;
}

export class WokenFleet {
  readonly timeline = new Timeline();
  readonly client: TaskClient;
  readonly stores: Stores;
  /** True times at which a worker's invocation was asked for. */
  readonly invocations: number[] = [];
  /** True times at which the waker was invoked. */
  readonly wakes: number[] = [];
  mostWorkers = 0;
  /** Billed time: cold starts, and the run time of ended invocations. */
  billedMs = 0;
  /** Invocations that have claimed nothing; counted when they end. */
  inVain = 0;
  /** Requests of wakers and dispatchers. */
  readonly looks = createMeter();
  /** Requests of workers. */
  readonly workersMeter = createMeter();
  /** Counted when a worker has ended. */
  claimsRefused = 0;
  /** Notified of each insert with the waker's latency; dropped or doubled wakes do not affect it. */
  readonly followers = new Set<(id: string) => void>();
  atWork = 0;
  running = 0;
  readonly clock: Clock;
  #isDeployed: boolean;
  #warm = 0;
  #made = 0;
  readonly #settings: FleetSettings;
  readonly #latencies: Latencies;
  readonly #prng: Prng;
  readonly #chance: Prng;
  readonly #network: Network;
  readonly #shards: readonly StreamShard[];

  constructor(settings: FleetSettings) {
    this.#settings = settings;
    this.#latencies = settings.latencies ?? LATENCIES;
    this.#isDeployed = settings.isDeployed ?? true;
    this.#prng = new Prng(settings.seed);
    this.#chance = this.#prng.fork('latencies');
    const lag = this.#prng.fork('index');
    const indexLagMs = (): number => lag.next() * this.#latencies.indexLagMs;
    const store = new SimulatedDynamo({ now: () => EPOCH_MS + this.timeline.now, staleReads: { indexLagMs } });
    store.createTable(memoryTable(TABLE));
    const wayMs = this.#latencies.dynamoMs / 2;
    this.#network = new Network({
      timeline: this.timeline,
      store,
      fateOf: () => ({ ending: 'answered', requestMs: wayMs, replyMs: wayMs }),
      events: {
        onApplied: (request, { fault }) => {
          if (fault === undefined) for (const id of insertedBy(request)) this.#publish(id);
        },
      },
    });
    const { runtime, stores } = this.place('producer');
    this.stores = stores;
    this.clock = runtime.clock;
    this.client = new TaskClient({ store: stores.tasks, runtime }, { queue: QUEUE });
    const shards = settings.streamShards ?? 1;
    this.#shards = Array.from({ length: shards }, (_, nth) => ({
      waker: this.#newWaker(`waker-${nth}`),
      waiting: [] as string[],
      isBusy: false,
    }));
    if (settings.tickEveryMs !== undefined) void this.#tickEvery(settings.tickEveryMs);
  }

  /** A separate process on a separate machine. */
  place(name: string): Place {
    const wall = new WallClock({ epochMs: EPOCH_MS, offsetMs: 0, drift: 0 });
    const random = this.#prng.fork(name);
    let made = 0;
    const unique = (): string => `${name}-${++made}-${random.integer(0, 2 ** 48).toString(36)}`;
    const process = new SimulatedProcess({
      name,
      timeline: this.timeline,
      wall,
      random,
      ids: { unique, ordered: unique },
    });
    const { runtime } = process;
    const observer = /^(waker|dispatcher)/.test(name)
      ? this.looks
      : name.startsWith('worker')
        ? this.workersMeter
        : undefined;
    const sender = new Sender({ driver: this.#network.driverOf(process), runtime, observer });
    return { runtime, stores: createStores(sender, { table: TABLE, shards: SHARDS }) };
  }

  /** Lets time pass until the work is done. */
  async run<T>(work: Promise<T>): Promise<T> {
    const state = { isOver: false };
    const over = (): void => {
      state.isOver = true;
    };
    work.then(over, over);
    while (!state.isOver) await this.timeline.run(() => state.isOver);
    return work;
  }

  #publish(id: string): void {
    const { wakes = 'delivered' } = this.#settings;
    const shard = this.#shards[shardOf(id, this.#shards.length)];
    for (const follow of this.followers)
      this.timeline.after(this.#drawn(this.#latencies.streamMs), () => {
        this.timeline.wake();
        follow(id);
      });
    if (wakes === 'dropped' || shard === undefined || !this.#isDeployed) return;
    for (let copy = 0; copy < (wakes === 'doubled' ? 2 : 1); copy++)
      this.timeline.after(this.#drawn(this.#latencies.streamMs), () => {
        this.timeline.wake();
        shard.waiting.push(id);
        if (!shard.isBusy) void this.#wakeFrom(shard);
      });
  }

  async #wakeFrom(shard: StreamShard): Promise<void> {
    shard.isBusy = true;
    while (shard.waiting.length > 0) {
      this.wakes.push(this.timeline.now);
      await shard.waker.wake([...new Set(shard.waiting.splice(0, 1_000))]);
    }
    shard.isBusy = false;
  }

  #newWaker(name: string): Waker {
    const { runtime, stores } = this.place(name);
    return new Waker({ ...stores, runtime, workers: this.#workforce(runtime, stores), onDamaged }, this.#dispatching);
  }

  #workforce(runtime: Runtime, stores: Stores) {
    const semaphores = new SemaphoreClient({ ...stores, runtime, gauge: noSkewGauge }, this.#dispatching);
    const name = workersSemaphore(QUEUE);
    return {
      startWorker: (event: WorkEvent): Promise<void> => {
        this.#invoke(event);
        return Promise.resolve();
      },
      declareLimit: () => semaphores.declareLimit(name, this.#settings.maxWorkers),
      liveHolders: async () => permitHolders(await semaphores.get(name)),
    };
  }

  get #dispatching() {
    const { maxWorkers, startWithinMs, planConcurrency = CONCURRENCY } = this.#settings;
    return {
      queue: QUEUE,
      shards: SHARDS,
      maxWorkers,
      concurrency: planConcurrency,
      maxClockSkewMs: MAX_CLOCK_SKEW_MS,
      startWithinMs,
    };
  }

  #invoke(event: WorkEvent): void {
    this.invocations.push(this.timeline.now);
    const isWarm = this.#warm > 0;
    if (isWarm) this.#warm--;
    const startMs = this.#drawn(this.#latencies.invokeMs) + (isWarm ? 0 : this.#latencies.coldStartMs);
    this.timeline.after(startMs, () => {
      this.timeline.wake();
      const begunAt = this.timeline.now;
      this.billedMs += isWarm ? 0 : this.#latencies.coldStartMs;
      this.running++;
      void this.work(event).then(() => {
        this.running--;
        this.billedMs += this.timeline.now - begunAt;
        if (this.#settings.keepsEnvironments !== false) this.#warm++;
      });
    });
  }

  /** One invocation of `functions/work.ts`, without Lambda around it. */
  async work({ homeShards, slice, tasks: named, stays }: WorkEvent): Promise<void> {
    const { maxWorkers, registry, workerLifeMs } = this.#settings;
    const { runtime, stores } = this.place(`worker-${++this.#made}`);
    const timing = sessionTiming({ lockDelayMs: 0, maxClockSkewMs: MAX_CLOCK_SKEW_MS });
    const ports = { ...stores, runtime, gauge: noSkewGauge };
    const session = await openHolder(
      { timing, name: workerName(QUEUE), node: 'lambda' },
      { store: stores.sessions, runtime },
    );
    const semaphores = new SemaphoreClient(ports, timing);
    const { continues = false } = this.#settings;
    const handBack = new AbortController();
    const lifeMs = workerLifeMs ?? WORKER_LIFE_MS;
    const cancel = runtime.clock.after(continues ? lifeMs : 1e9, () => handBack.abort());
    let claimed = 0;
    let isCutShort = false;
    const permit = await semaphores.tryAcquire(session, workersSemaphore(QUEUE), { limit: maxWorkers });
    if (permit.kind === 'acquired') {
      this.mostWorkers = Math.max(this.mostWorkers, ++this.atWork);
      const report = await runWorker(
        registry,
        { ...ports, session, log: silent },
        {
          queue: QUEUE,
          shards: SHARDS,
          homeShards,
          slice,
          named,
          stays,
          shortWaitMs: SHORT_WAIT_MS,
          concurrency: CONCURRENCY,
          pollMs: 1_000,
          graceMs: 1_000,
          deadlineMonotonicMs: runtime.clock.monotonic() + lifeMs + (continues ? MARGIN_MS : 0),
          ...(continues ? { hasDispatcher: true, pollMs: 1_250 } : {}),
          startWithinMs: this.#settings.startWithinMs,
        },
        handBack.signal,
      );
      claimed = report.claimed;
      isCutShort = report.ended === 'handedBack';
      this.atWork--;
      this.claimsRefused += report.claimsRefused;
      await permit.permit.release();
    }
    cancel();
    if (claimed === 0) this.inVain++;
    if (continues && isCutShort) this.#invoke({ queue: QUEUE, homeShards });
    await session.end();
  }

  /** From now on there are wakes and ticks. */
  deploy(): void {
    this.#isDeployed = true;
  }

  /** A worker outside Lambda, without a permit: runs until no task is due. */
  async workElsewhere(concurrency: number): Promise<void> {
    const { runtime, stores } = this.place('elsewhere');
    const gauge = noSkewGauge;
    const timing = sessionTiming({ lockDelayMs: 0, maxClockSkewMs: MAX_CLOCK_SKEW_MS });
    const session = await SessionHolder.create(
      { timing, name: workerName(QUEUE), node: 'laptop', behaviour: 'release' },
      { store: stores.sessions, runtime, gauge },
    );
    const settings = { queue: QUEUE, shards: SHARDS, concurrency, graceMs: 1_000, untilDrained: false };
    const ports = { ...stores, session, runtime, gauge, log: silent };
    await runWithSchedules(this.#settings.registry, ports, settings, new AbortController().signal);
  }

  async #tickEvery(everyMs: number): Promise<void> {
    const { runtime, stores } = this.place('dispatcher');
    const workers = this.#workforce(runtime, stores);
    for (let nth = 1; ; nth++) {
      await runtime.clock.sleep(everyMs);
      if (!this.#isDeployed) continue;
      const tick = { schedule: QUEUE, scheduledTime: String(nth) };
      await dispatch(tick, runtime.ids.unique(), { ...stores, runtime, workers, onDamaged }, this.#dispatching);
    }
  }

  #drawn({ p50, p99 }: Spread): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.#chance.next()));
    const normal = radius * Math.cos(2 * Math.PI * this.#chance.next());
    return p50 * Math.exp((Math.log(p99 / p50) / Z99) * normal);
  }
}

/** Ids of the tasks whose rows this request has put, and not changed, or for which something has arrived: both are put where none was. */
function insertedBy({ kind, input }: Request): readonly string[] {
  const puts: readonly { readonly Item?: DynamoItem | undefined }[] =
    kind === 'put'
      ? [input as { readonly Item?: DynamoItem }]
      : kind === 'transactWrite'
        ? (
            (input as { readonly TransactItems?: readonly { readonly Put?: { readonly Item?: DynamoItem } }[] })
              .TransactItems ?? []
          ).map(({ Put }) => Put ?? {})
        : [];
  return puts.flatMap(({ Item }) => {
    const [row, , id] = typeof Item?.pk === 'string' ? splitKey(Item.pk) : [];
    return (row === 'task' || row === 'arrival') && id !== undefined ? [id] : [];
  });
}

function onDamaged(error: unknown): never {
  throw error;
}
