/**
 * Cost of a queue with little work: empty, with one task a minute,
 * with one long task, and with a task every five seconds alongside a long one; for `leasehold work`, and for a deployed queue
 * with its ticks and wakes.
 *
 * Each runs for ten minutes of simulated time over the exact DynamoDB in memory,
 * which charges for empty queries like AWS. The first minute of `work`
 * is reported separately, because it polls more often then. Compute is the lifetime of the workers, plus 0.2 seconds per tick or wake.
 */
import { permitHolders } from '../shared/tasks/dispatch/live-workers.ts';
import { leftNothing } from '../functions/continuation.ts';
import { reasonToLeave } from '../functions/redundant-worker.ts';
import { Command } from 'commander';
import { priceOf } from '../shared/operate/cost/prices.ts';
import type { DispatcherPorts, WorkEvent } from '../shared/tasks/dispatch/dispatcher.ts';
import { dispatch, workersSemaphore } from '../shared/tasks/dispatch/dispatcher.ts';
import { workerName } from '../shared/tasks/dispatch/live-workers.ts';
import { Waker } from '../shared/tasks/dispatch/wake.ts';
import type { MeterReading } from '../shared/dynamo/engine/meter.ts';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { sessionTiming } from '../shared/core/lease/timing.ts';
import { SemaphoreClient } from '../shared/coordination/semaphore/semaphore-client.ts';
import { defineTask, registerTasks } from '../shared/tasks/task/definition.ts';
import { runWorker } from '../shared/tasks/worker/run-worker.ts';
import { print, round } from './figures.ts';
import type { IdleWorld } from './idle-world.ts';
import { IDLE_QUEUE, IDLE_SHARDS, openIdleWorld } from './idle-world.ts';
import { silent } from '../shared/testing/silent-log.ts';
import { openHolder } from '../test/support/open-holder.ts';

type Load = 'empty' | 'trickle' | 'longTask' | 'besideLongTask';
const LOADS: readonly Load[] = ['empty', 'trickle', 'longTask', 'besideLongTask'];

interface Used {
  readonly requests: number;
  readonly queries: number;
  readonly writeUnits: number;
  readonly readUnits: number;
}

/** Over so many seconds; the producer's own enqueues are not in it. */
interface Measured extends Used {
  readonly seconds: number;
  readonly invocations: number;
  readonly gbSeconds: number;
}

const MINUTE_MS = 60_000;
const MINUTES = 10;
const LONG_TASK_MS = 20_000;
const BESIDE_MS = 5_000;
/** From an insert to the waker, as DynamoDB Streams take. */
const STREAM_MS = 213;
const MAX_WORKERS = 10;
const CONCURRENCY = 10;
const TIMING = sessionTiming({ lockDelayMs: 0 });
const WORKER_MB = 512;
const FUNCTION = { seconds: 0.2, mb: 256 };
const SECONDS_PER_MONTH = 30 * 86_400;
const QUERIES = ['task.page', 'task.pageOfGroups', 'schedule.due'];

export async function run(argv: readonly string[]): Promise<number> {
  const { json } = parse(argv);
  const work = await measureWork('empty');
  const working = { trickle: await measureWork('trickle'), longTask: await measureWork('longTask') };
  const deployed = {
    empty: await measureDeployed('empty'),
    trickle: await measureDeployed('trickle'),
    longTask: await measureDeployed('longTask'),
    besideLongTask: await measureDeployed('besideLongTask'),
  };
  const oneTask = await measureOneTask();
  const dollarsPerMonth = {
    work: dollars(work.whole),
    workTrickle: dollars(working.trickle.whole),
    ...Object.fromEntries(LOADS.map((load) => [`deployed ${load}`, dollars(deployed[load])])),
  };
  const answer = {
    work: { ...perSecond(work.whole), firstMinute: perSecond(work.first), afterwards: perSecond(work.later) },
    trickle: { ...perSecond(working.trickle.whole), deployed: perSecond(deployed.trickle) },
    besideLongTask: { deployed: perSecond(deployed.besideLongTask) },
    loneTask: startOfLoneTask(deployed),
    longTask: { queries: oneTask.queries, requests: oneTask.requests, readUnits: oneTask.readUnits },
    dollarsPerMonth,
  };
  print(answer, json);
  return 0;
}

interface Worked {
  readonly whole: Measured;
  readonly first: Measured;
  readonly later: Measured;
}

/** `leasehold work`, after its first poll of every source. */
async function measureWork(load: Load): Promise<Worked> {
  const idle = openIdleWorld();
  return idle.world.run(async () => {
    await idle.noteLanes('normal');
    const handBack = new AbortController();
    const standing = idle.stand(definitionsOf(idle), handBack.signal);
    await idle.clock.sleep(500);
    const begun = idle.meter.read();
    const producing = produce(idle, load, () => undefined);
    await idle.clock.sleep(MINUTE_MS);
    const minute = idle.meter.read();
    await idle.clock.sleep((MINUTES - 1) * MINUTE_MS);
    const end = idle.meter.read();
    await producing;
    handBack.abort();
    await standing;
    return {
      whole: between(begun, end, MINUTES * 60),
      first: between(begun, minute, 60),
      later: between(minute, end, (MINUTES - 1) * 60),
    };
  });
}

/** One tick a minute, and one wake per task: workers start, and exit when no work is left. */
export async function measureDeployed(load: Load): Promise<Measured> {
  const idle = openIdleWorld();
  return idle.world.run(async () => {
    await idle.noteLanes('normal');
    const fleet = new Fleet(idle);
    await fleet.tick(0);
    const begun = idle.meter.read();
    const producing = produce(idle, load, (id) => fleet.wake(id));
    for (let minute = 1; minute <= MINUTES; minute++) {
      await idle.clock.sleep(MINUTE_MS);
      await fleet.tick(minute);
    }
    await producing;
    await fleet.allHome();
    const used = between(begun, idle.meter.read(), MINUTES * 60);
    return { ...used, invocations: fleet.invocations, gbSeconds: fleet.gbSeconds };
  });
}

/** One worker and one task of 20 s. */
async function measureOneTask(): Promise<Measured> {
  const idle = openIdleWorld();
  return idle.world.run(async () => {
    await idle.noteLanes('normal');
    const fleet = new Fleet(idle);
    await idle.client.enqueue('long', {}, { id: 'long' });
    const begun = idle.meter.read();
    await fleet.work({ queue: IDLE_QUEUE, homeShards: Array.from({ length: IDLE_SHARDS }, (_, shard) => shard) });
    return { ...between(begun, idle.meter.read(), LONG_TASK_MS / 1_000), gbSeconds: fleet.gbSeconds };
  });
}

async function produce(idle: IdleWorld, load: Load, onEnqueued: (id: string) => void): Promise<void> {
  if (load === 'besideLongTask') {
    await produceBeside(idle, onEnqueued);
    return;
  }
  const count = { empty: 0, trickle: MINUTES - 1, longTask: 1 }[load];
  for (let n = 0; n < count; n++) {
    await idle.clock.sleep(MINUTE_MS / 2);
    const id = `${load}-${n}`;
    await idle.client.enqueue(load === 'longTask' ? 'long' : 'quick', {}, { id });
    onEnqueued(id);
    await idle.clock.sleep(MINUTE_MS / 2);
  }
}

/** One task every five seconds during a long one: its worker has free slots. */
async function produceBeside(idle: IdleWorld, onEnqueued: (id: string) => void): Promise<void> {
  const enqueue = async (name: string, id: string): Promise<void> => {
    await idle.client.enqueue(name, {}, { id });
    onEnqueued(id);
  };
  await enqueue('longest', 'longest');
  for (let n = 0; n < (MINUTES * MINUTE_MS) / BESIDE_MS; n++) {
    await idle.clock.sleep(BESIDE_MS);
    await enqueue('quick', `beside-${n}`);
  }
}

/** The deployed functions of the queue, as their handlers compose them. */
class Fleet {
  readonly #idle: IdleWorld;
  readonly #waker: Waker;
  readonly #running = new Set<Promise<void>>();
  readonly #dispatching: DispatcherPorts;
  readonly #settings = {
    queue: IDLE_QUEUE,
    shards: IDLE_SHARDS,
    maxWorkers: MAX_WORKERS,
    startWithinMs: 10_000,
    concurrency: CONCURRENCY,
    maxClockSkewMs: TIMING.maxClockSkewMs,
  };
  invocations = 0;
  gbSeconds = 0;
  #started = 0;

  constructor(idle: IdleWorld) {
    this.#idle = idle;
    const { stores, runtime } = idle.placeOf('dispatcher');
    const permits = new SemaphoreClient({ ...stores, runtime, gauge: noSkewGauge }, TIMING);
    const name = workersSemaphore(IDLE_QUEUE);
    const workers = {
      startWorker: (event: WorkEvent): Promise<void> => {
        this.#track(this.work(event));
        return Promise.resolve();
      },
      declareLimit: () => permits.declareLimit(name, MAX_WORKERS),
      liveHolders: async () => permitHolders(await permits.get(name)),
    };
    this.#dispatching = { ...stores, runtime, workers, onDamaged: () => undefined };
    this.#waker = new Waker({ ...stores, runtime, workers, onDamaged: () => undefined }, this.#settings);
  }

  async tick(nth: number): Promise<void> {
    this.#invoked();
    await dispatch(
      { schedule: IDLE_QUEUE, scheduledTime: String(nth) },
      `tick ${nth}`,
      this.#dispatching,
      this.#settings,
    );
  }

  wake(id: string): void {
    const wake = async (): Promise<void> => {
      await this.#idle.clock.sleep(STREAM_MS);
      this.#invoked();
      await this.#waker.wake([id]);
    };
    this.#track(wake());
  }

  async work({ homeShards }: WorkEvent): Promise<void> {
    const { stores, runtime } = this.#idle.placeOf(`worker ${++this.#started}`);
    const startedAt = runtime.clock.monotonic();
    const surplus = { queue: IDLE_QUEUE, maxWorkers: MAX_WORKERS, timing: TIMING };
    if ((await reasonToLeave({ ...stores, runtime }, surplus)).reason !== undefined) return;
    const permits = new SemaphoreClient({ ...stores, runtime, gauge: noSkewGauge }, TIMING);
    const session = await openHolder(
      { timing: TIMING, name: workerName(IDLE_QUEUE), node: 'bench', listed: false },
      { store: stores.sessions, runtime },
    );
    const permit = await permits.tryAcquire(session, workersSemaphore(IDLE_QUEUE), { limit: MAX_WORKERS });
    if (permit.kind !== 'full') {
      const where = { queue: IDLE_QUEUE, shards: IDLE_SHARDS, homeShards, concurrency: CONCURRENCY };
      const when = { pollMs: 1_250, hasDispatcher: true, graceMs: 1_000, deadlineMonotonicMs: Infinity };
      const ports = { ...stores, session, runtime, gauge: noSkewGauge, log: silent };
      const registry = registerTasks(definitionsOf(this.#idle));
      const report = await runWorker(registry, ports, { ...where, ...when }, new AbortController().signal);
      const released = await permit.permit.release();
      await session.end({ holdsNothing: released && leftNothing(report) });
    }
    await session.end();
    this.invocations++;
    this.gbSeconds += (((runtime.clock.monotonic() - startedAt) / 1_000) * WORKER_MB) / 1024;
  }

  async allHome(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #track(running: Promise<void>): void {
    const tracked = running.finally(() => {
      this.#running.delete(tracked);
    });
    this.#running.add(tracked);
  }

  #invoked(): void {
    this.invocations++;
    this.gbSeconds += (FUNCTION.seconds * FUNCTION.mb) / 1024;
  }
}

function definitionsOf({ clock }: IdleWorld): Readonly<Record<string, unknown>> {
  const long = defineTask({ name: 'long', run: () => clock.sleep(LONG_TASK_MS) });
  const quick = defineTask({ name: 'quick', run: () => undefined });
  const longest = defineTask({ name: 'longest', run: () => clock.sleep(MINUTES * MINUTE_MS) });
  return { long, quick, longest };
}

function between(begun: MeterReading, end: MeterReading, seconds: number): Measured {
  const queriesOf = ({ byVerb }: MeterReading): number =>
    QUERIES.reduce((sum, verb) => sum + (byVerb[verb]?.requests ?? 0), 0);
  return {
    requests: end.requests - begun.requests,
    queries: queriesOf(end) - queriesOf(begun),
    writeUnits: end.writeUnits - begun.writeUnits,
    readUnits: end.readUnits - begun.readUnits,
    seconds,
    invocations: 0,
    gbSeconds: 0,
  };
}

/** Units of a lone task's wake and worker, without the task's own claim and completion, and the read of its row. */
function startOfLoneTask({ trickle, empty }: Readonly<Record<Load, Measured>>): Pick<Used, 'writeUnits' | 'readUnits'> {
  const tasks = MINUTES - 1;
  return {
    writeUnits: round((trickle.writeUnits - empty.writeUnits) / tasks - 3),
    readUnits: round((trickle.readUnits - empty.readUnits) / tasks - 0.5),
  };
}

function perSecond({ writeUnits, readUnits, requests, seconds }: Measured) {
  return {
    writeUnitsPerSecond: round(writeUnits / seconds),
    readUnitsPerSecond: round(readUnits / seconds),
    requestsPerSecond: round(requests / seconds),
  };
}

function dollars({ writeUnits, readUnits, invocations, gbSeconds, seconds }: Measured): number {
  const spent =
    writeUnits * priceOf('writes') +
    readUnits * priceOf('reads') +
    invocations * priceOf('invocations') +
    gbSeconds * priceOf('arm64');
  return round((spent / seconds) * SECONDS_PER_MONTH);
}

function parse(argv: readonly string[]): { readonly json: boolean } {
  return new Command('npm run bench -- idle')
    .description('Requests, units and dollars of a queue with little to do, for `leasehold work` and deployed.')
    .option('--json', 'one JSON object', false)
    .parse([...argv], { from: 'user' })
    .opts();
}
