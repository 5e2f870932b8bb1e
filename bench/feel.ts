/**
 * `npm run bench -- feel` measures waits that a user feels in a queue with other work: of a high priority, of a small tenant, after a crash,
 * of retries of one key, and in the worker's own process; and the claims that many `leasehold work` take from each other.
 *
 * The workers are workers of `leasehold work`, in simulated time. Exits with 1 if a figure is above its bound.
 */
import { Command } from 'commander';
import type { Stores } from '../shared/client/stores.ts';
import { runWithSchedules } from '../shared/client/run-with-schedules.ts';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { sessionTiming } from '../shared/core/lease/timing.ts';
import type { EnqueueOptions } from '../shared/tasks/queue/task-client.ts';
import { defineTask, registerTasks } from '../shared/tasks/task/definition.ts';
import type { WorkerPorts, WorkerReport } from '../shared/tasks/worker/run-worker.ts';
import { silent } from '../shared/testing/silent-log.ts';
import { percentile, print } from './figures.ts';
import type { IdleWorld } from './idle-world.ts';
import { IDLE_QUEUE, IDLE_SHARDS, openIdleWorld } from './idle-world.ts';
import { openHolder } from '../test/support/open-holder.ts';

interface Figure {
  readonly what: string;
  readonly figure: number;
  readonly most: number;
}

interface Standing {
  readonly tasks: Readonly<Record<string, unknown>>;
  readonly handBack: AbortSignal;
  readonly ttlMs?: number;
  /** When it is frozen: its heartbeats end, and it keeps its tasks. */
  readonly dead?: AbortSignal;
  readonly onEnqueued?: WorkerPorts['onEnqueued'];
}

const SECOND_MS = 1_000;
const SLOW_MS = 100;
const BACKLOG = 4_000;
const SAMPLES = 25;
const ENQUEUES_IN_FLIGHT = 64;
const CRASH = { tasks: 10, ttlMs: 10_000, backlog: 6_000, watchedMs: 40_000 };
const MANY = { workers: 20, taskMs: 50 };
const RETRIED = { tasks: 40, limit: 2, watchedMs: 100_000 };

const SCENES: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  high: async () => [
    {
      what: 'high priority beside a backlog, ms, p50',
      figure: await beside(['normal', 'high'], { priority: 'high' }),
      most: 480,
    },
  ],
  tenant: async () => [
    {
      what: 'a small tenant beside a hog, ms, p50',
      figure: await beside(['normal groups'], { tenant: 'ada' }, { tenant: 'hog' }),
      most: 250,
    },
  ],
  crash: async () => [
    { what: 'a plain task of a crashed worker, ms, p50', figure: await afterCrash(() => ({})), most: 10_000 },
    {
      what: 'a task of a tenant of one, ms, p50',
      figure: await afterCrash((nth) => ({ tenant: `t${nth % 2}` })),
      most: 10_000,
    },
    {
      what: 'a task of a key of one, ms, p50',
      figure: await afterCrash((nth) => ({ key: `k${nth}`, limit: 1 })),
      most: 12_000,
    },
  ],
  many: async () => [
    { what: '20 workers, 300 tasks, claims refused', figure: await refusedOf(300), most: 0.15 },
    { what: '20 workers, 3,000 tasks, claims refused', figure: await refusedOf(3_000), most: 0.15 },
  ],
  fresh: async () => [{ what: 'enqueued in its own process, ms, p50', figure: await inOneProcess(), most: 50 }],
  retried: async () => [
    { what: '80 runs of one key with retries, last start, s', figure: await retriesOfKey(), most: 41 },
  ],
};

export async function run(argv: readonly string[]): Promise<number> {
  const { scenes, json } = new Command('npm run bench -- feel')
    .description('Waits that a user feels beside other work, and claims that workers take from each other.')
    .option('--scenes <names...>', `of ${Object.keys(SCENES).join(', ')}`, Object.keys(SCENES))
    .option('--json', 'print one JSON object')
    .parse([...argv], { from: 'user' })
    .opts<{ readonly scenes: readonly string[]; readonly json?: boolean }>();
  const figures: Figure[] = [];
  for (const name of scenes) {
    const scene = SCENES[name];
    if (scene === undefined) throw new Error(`no scene ${name}`);
    figures.push(...(await scene()));
  }
  print(
    figures.map((one) => ({ ...one, isMet: one.figure <= one.most })),
    json,
  );
  return figures.every(({ figure, most }) => figure <= most) ? 0 : 1;
}

/** Half the waits of occasional tasks during a backlog of others. */
async function beside(
  lanes: readonly string[],
  options: EnqueueOptions,
  ofBacklog: EnqueueOptions = {},
): Promise<number> {
  const idle = openIdleWorld();
  const { clock, client, runtime } = idle;
  const waits: number[] = [];
  const slow = defineTask({ name: 'slow', run: () => clock.sleep(SLOW_MS) });
  const sample = defineTask({ name: 'sample', run: ({ at }: { at: number }) => void waits.push(clock.now() - at) });
  await idle.world.run(async () => {
    await idle.noteLanes(...lanes);
    await fill(idle, 'slow', BACKLOG, ofBacklog);
    await working(idle, { tasks: { slow, sample } }, async () => {
      for (let nth = 0; nth < SAMPLES; nth++) {
        await clock.sleep(SECOND_MS * (0.7 + 0.6 * runtime.random.next()));
        await client.enqueue(sample, { at: clock.now() }, options);
      }
      await clock.sleep(3 * SECOND_MS);
    });
  });
  return percentile(waits, 0.5);
}

/** A worker dies with its tasks, and another is busy with a backlog: from the death to the second starts. */
async function afterCrash(optionsOf: (nth: number) => EnqueueOptions): Promise<number> {
  const idle = openIdleWorld();
  const { clock, client } = idle;
  const waits: number[] = [];
  const dead = new AbortController();
  let diedAt = Infinity;
  const slow = defineTask({ name: 'slow', run: () => clock.sleep(SLOW_MS) });
  const victim = defineTask({
    name: 'victim',
    async run() {
      if (diedAt === Infinity) await Promise.withResolvers().promise;
      waits.push(clock.now() - diedAt);
    },
  });
  await idle.world.run(async () => {
    await idle.noteLanes('normal', 'normal groups');
    for (let nth = 0; nth < CRASH.tasks; nth++)
      await client.enqueue(victim, {}, { id: `victim${nth}`, ...optionsOf(nth) });
    const never = new AbortController();
    const { ttlMs } = CRASH;
    void stand(idle, 'dying', { tasks: { victim }, handBack: never.signal, dead: dead.signal, ttlMs });
    await clock.sleep(3 * SECOND_MS);
    await fill(idle, 'slow', CRASH.backlog);
    await working(idle, { tasks: { slow, victim }, ttlMs }, async () => {
      await clock.sleep(2 * SECOND_MS);
      dead.abort();
      diedAt = clock.now();
      await clock.sleep(CRASH.watchedMs);
    });
  });
  return waits.length < CRASH.tasks ? Infinity : percentile(waits, 0.5);
}

/** The share of claims that workers lose to each other which know nothing of each other. */
async function refusedOf(tasks: number): Promise<number> {
  const idle = openIdleWorld();
  const { clock } = idle;
  let done = 0;
  const quick = defineTask({
    name: 'quick',
    async run() {
      await clock.sleep(MANY.taskMs);
      done++;
    },
  });
  const reports: WorkerReport[] = [];
  await idle.world.run(async () => {
    await idle.noteLanes('normal');
    await fill(idle, 'quick', tasks);
    const over = new AbortController();
    const standing = Array.from({ length: MANY.workers }, (_, nth) =>
      stand(idle, `worker ${nth}`, { tasks: { quick }, handBack: over.signal }),
    );
    while (done < tasks) await clock.sleep(MANY.taskMs);
    over.abort();
    reports.push(...(await Promise.all(standing)));
  });
  const refused = reports.reduce((sum, { claimsRefused }) => sum + claimsRefused, 0);
  return refused / (tasks + refused);
}

/** Half the waits of tasks that are enqueued in the worker's own process, from before the enqueue. */
async function inOneProcess(): Promise<number> {
  const idle = openIdleWorld();
  const { clock, client, runtime } = idle;
  const waits: number[] = [];
  const quick = defineTask({ name: 'quick', run: ({ at }: { at: number }) => void waits.push(clock.now() - at) });
  let tell: (ids: readonly string[]) => void = () => undefined;
  const onEnqueued: WorkerPorts['onEnqueued'] = (listener) => {
    tell = listener;
    return () => undefined;
  };
  await idle.world.run(async () => {
    await idle.noteLanes('normal');
    const story = async (): Promise<void> => {
      for (let nth = 0; nth < 2 * SAMPLES; nth++) {
        await clock.sleep(SECOND_MS * (0.5 + 3 * runtime.random.next()));
        const { id } = await client.enqueue(quick, { at: clock.now() });
        tell([id]);
      }
      await clock.sleep(3 * SECOND_MS);
    };
    await working(idle, { tasks: { quick }, onEnqueued }, story);
  });
  return percentile(waits, 0.5);
}

/** Tasks of a second, two at a time, each of which fails once: when the last run starts, in seconds. 39 are possible. */
async function retriesOfKey(): Promise<number> {
  const idle = openIdleWorld();
  const { clock, client } = idle;
  const starts: number[] = [];
  const keyed = defineTask({
    name: 'keyed',
    retry: { backoff: SECOND_MS },
    async run(_input: unknown, { attempt }) {
      starts.push(clock.now());
      await clock.sleep(SECOND_MS);
      if (attempt === 1) throw new Error('again');
    },
  });
  let beganAt = 0;
  await idle.world.run(async () => {
    await idle.noteLanes('normal', 'normal groups');
    const options = { key: 'k', limit: RETRIED.limit };
    for (let nth = 0; nth < RETRIED.tasks; nth++) await client.enqueue(keyed, {}, options);
    beganAt = clock.now();
    await working(idle, { tasks: { keyed } }, () => clock.sleep(RETRIED.watchedMs));
  });
  return starts.length < 2 * RETRIED.tasks ? Infinity : (Math.max(...starts) - beganAt) / SECOND_MS;
}

async function fill({ client }: IdleWorld, task: string, count: number, options: EnqueueOptions = {}): Promise<void> {
  const valid = Array.from({ length: count }, () => client.validate(task, {}, options));
  await client.enqueueAll(await Promise.all(valid), { inFlight: ENQUEUES_IN_FLIGHT });
}

/** One worker for as long as the story takes. */
async function working(
  idle: IdleWorld,
  settings: Omit<Standing, 'handBack'>,
  story: () => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const standing = stand(idle, 'worker', { ...settings, handBack: over.signal });
  await story();
  over.abort();
  await standing;
}

/** A `leasehold work`. */
async function stand(
  idle: IdleWorld,
  name: string,
  { tasks, handBack, ttlMs, dead, onEnqueued }: Standing,
): Promise<WorkerReport> {
  const { runtime, stores: all } = idle.placeOf(name);
  const stores = dead === undefined ? all : untilDead(all, dead);
  const timing = sessionTiming({ lockDelayMs: 0, ...(ttlMs === undefined ? {} : { ttlMs }) });
  const session = await openHolder({ timing, name, node: 'bench' }, { store: stores.sessions, runtime });
  const ports = { ...stores, session, runtime, gauge: noSkewGauge, log: silent, onEnqueued };
  const settings = { queue: IDLE_QUEUE, shards: IDLE_SHARDS, concurrency: 10, graceMs: SECOND_MS, untilDrained: false };
  return runWithSchedules(registerTasks(tasks), ports, settings, handBack);
}

/** The same stores, until the process is dead: then no call ever returns. */
function untilDead(stores: Stores, dead: AbortSignal): Stores {
  const mortal = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown =>
          dead.aborted ? Promise.withResolvers().promise : Reflect.apply(value, target, args);
      },
    });
  return Object.fromEntries(Object.entries(stores).map(([name, store]) => [name, mortal(store as object)])) as never;
}
