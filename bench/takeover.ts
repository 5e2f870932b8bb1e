/**
 * `npm run bench -- takeover`: how long the tasks of a killed worker wait behind a backlog of newer ones.
 *
 * A worker holds the ten oldest tasks of a queue and is killed while 3,000 newer tasks wait and three other workers run.
 * Time is simulated. The worker is killed at several moments of its heartbeat; the slowest takeover is reported.
 */
import Table from 'cli-table3';
import { Command } from 'commander';
import { runWithSchedules } from '../shared/client/run-with-schedules.ts';
import { createStores } from '../shared/client/stores.ts';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { sessionTiming } from '../shared/core/lease/timing.ts';
import { Sender } from '../shared/dynamo/engine/send.ts';
import { SessionHolder } from '../shared/session/keep-alive.ts';
import { TaskClient } from '../shared/tasks/queue/task-client.ts';
import { defineTask, registerTasks } from '../shared/tasks/task/definition.ts';
import { wholeNumber, wholeNumbers } from './arguments.ts';
import { silent } from './idle-world.ts';
import type { SimulatedWorld } from './table.ts';
import { TABLE, simulatedWorld } from './table.ts';

interface Settings {
  readonly requestMs: readonly number[];
  readonly ttlMs: number;
  readonly tasks: number;
  readonly workers: number;
  readonly concurrency: number;
  readonly taskMs: number;
  readonly rounds: number;
  readonly json: boolean;
}

interface Round {
  /** Seconds from the kill to the first line of each of the oldest tasks, in order. */
  readonly takenOverAfter: readonly number[];
  /** Newer tasks that began between the moment of the first possible takeover and the last takeover. */
  readonly newerBegunBefore: number;
}

const QUEUE = 'takeover';
const SHARDS = 4;
const OLDEST = 10;
const MAX_CLOCK_SKEW_MS = 1_000;
/** The workers are busy by then. */
const WARM_UP_MS = 4_000;

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  const rows = [];
  for (const requestMs of settings.requestMs) {
    const rounds: Round[] = [];
    for (let nth = 0; nth < settings.rounds; nth++) rounds.push(await measure(settings, requestMs, nth));
    rows.push({
      requestMs,
      takenOver: Math.min(...rounds.map(({ takenOverAfter }) => takenOverAfter.length)),
      lastAfterSeconds: Math.max(...rounds.map(({ takenOverAfter }) => takenOverAfter.at(-1) ?? Infinity)),
      newerBegunBefore: Math.max(...rounds.map(({ newerBegunBefore }) => newerBegunBefore)),
    });
  }
  if (settings.json) console.log(JSON.stringify({ rows }));
  else {
    const head = ['ms a request', 'taken over', 'the last after, s', 'newer ones begun before'];
    const style = { head: [], border: [], compact: true };
    const table = new Table({ head, style, colAligns: head.map(() => 'right') });
    for (const row of rows) table.push(Object.values(row));
    console.log(table.toString());
  }
  return rows.every(({ takenOver }) => takenOver === OLDEST) ? 0 : 1;
}

async function measure(settings: Settings, requestMs: number, nth: number): Promise<Round> {
  const { ttlMs, tasks, workers, concurrency, taskMs, rounds } = settings;
  const world = simulatedWorld({ requestMs });
  const { clock } = world.placeOf('observer').runtime;
  const old = { begun: 0, takenOver: [] as number[] };
  const newer: number[] = [];
  const job = defineTask({
    name: 'job',
    async run(_: unknown, { id, attempt, signal }) {
      if (!id.startsWith('old')) {
        newer.push(clock.monotonic());
        await clock.sleep(taskMs);
      } else if (attempt > 1) old.takenOver.push(clock.monotonic());
      else {
        old.begun++;
        await clock.sleep(1e9, signal);
      }
    },
  });
  const handBack = new AbortController();
  return world.run(async () => {
    const user = world.placeOf('user');
    const stores = createStores(new Sender(user), { table: TABLE, shards: SHARDS });
    const client = new TaskClient({ store: stores.tasks, runtime: user.runtime }, { queue: QUEUE });
    const enqueue = async (name: string, count: number): Promise<void> => {
      const valid = Array.from({ length: count }, (_, n) => client.validate(job, null, { id: `${name}${n}` }));
      await client.enqueueAll(await Promise.all(valid), { inFlight: 64 });
    };
    const startWorker = (name: string, slots: number): Promise<unknown> =>
      work(world, name, { ttlMs, concurrency: slots, registry: registerTasks({ job }), handBack: handBack.signal });
    await enqueue('old', OLDEST);
    void startWorker('killed', OLDEST);
    while (old.begun < OLDEST) await clock.sleep(100);
    await enqueue('new', tasks);
    const others = Array.from({ length: workers }, (_, n) => startWorker(`worker ${n}`, concurrency));
    await clock.sleep(WARM_UP_MS + (nth * ttlMs) / (3 * rounds));
    world.kill('killed');
    const killedAt = clock.monotonic();
    const overAt = killedAt + ttlMs + MAX_CLOCK_SKEW_MS;
    while (old.takenOver.length < OLDEST && newer.length < tasks) await clock.sleep(100);
    handBack.abort();
    await Promise.all(others);
    const last = old.takenOver.at(-1) ?? Infinity;
    return {
      takenOverAfter: old.takenOver.map((at) => round((at - killedAt) / 1_000)),
      newerBegunBefore: newer.filter((at) => overAt < at && at < last).length,
    };
  });
}

async function work(
  world: SimulatedWorld,
  name: string,
  {
    ttlMs,
    concurrency,
    registry,
    handBack,
  }: {
    readonly ttlMs: number;
    readonly concurrency: number;
    readonly registry: ReturnType<typeof registerTasks>;
    readonly handBack: AbortSignal;
  },
): Promise<void> {
  const place = world.placeOf(name);
  const { runtime } = place;
  const stores = createStores(new Sender(place), { table: TABLE, shards: SHARDS });
  const timing = sessionTiming({ ttlMs, lockDelayMs: 0, maxClockSkewMs: MAX_CLOCK_SKEW_MS });
  const options = { timing, name, node: 'bench', behaviour: 'release' } as const;
  await using session = await SessionHolder.create(options, { store: stores.sessions, runtime, gauge: noSkewGauge });
  const ports = { ...stores, session, runtime, gauge: noSkewGauge, log: silent };
  const settings = { queue: QUEUE, shards: SHARDS, concurrency, graceMs: 1_000, untilDrained: false };
  await runWithSchedules(registry, ports, settings, handBack);
}

function round(figure: number): number {
  return Math.round(figure * 100) / 100;
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- takeover')
    .description('When the ten oldest tasks, whose worker is killed, are taken over in front of a backlog.')
    .option('--request-ms <list>', 'mean times of a request, separated by commas', wholeNumbers, [5, 100])
    .option('--ttl-ms <n>', "TTL of the workers' sessions", wholeNumber(300), 3_000)
    .option('--tasks <n>', 'backlog behind them', wholeNumber(1), 3_000)
    .option('--workers <n>', 'workers that live on', wholeNumber(1), 3)
    .option('--concurrency <n>', 'tasks at a time in each of them', wholeNumber(1), 5)
    .option('--task-ms <n>', 'how long a task takes', wholeNumber(0), 300)
    .option('--rounds <n>', 'moments of the heartbeat at which the worker is killed', wholeNumber(1), 5)
    .option('--json', 'one JSON object instead of a table', false)
    .parse([...argv], { from: 'user' })
    .opts();
}
