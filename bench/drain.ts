/** Fills one queue, plans it with one dispatcher tick, drains it with workers, and reports the cost. */
import { leftNothing } from '../functions/continuation.ts';
import { dispatch } from '../shared/tasks/dispatch/dispatcher.ts';
import type { MeterReading } from '../shared/dynamo/engine/meter.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import { Sender } from '../shared/dynamo/engine/send.ts';
import { createTaskStores } from '../shared/client/task-stores.ts';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { sessionTiming } from '../shared/core/lease/timing.ts';
import { SessionHolder } from '../shared/session/keep-alive.ts';
import { TaskClient } from '../shared/tasks/queue/task-client.ts';
import { registerTasks } from '../shared/tasks/task/definition.ts';
import type { WorkerReport, WorkerSettings } from '../shared/tasks/worker/run-worker.ts';
import { runWorker } from '../shared/tasks/worker/run-worker.ts';
import type { Place, World } from './table.ts';
import { TABLE } from './table.ts';
import { silent } from '../shared/testing/silent-log.ts';

interface DrainSettings {
  readonly queue: string;
  readonly shards: number;
  readonly workers: number;
  readonly concurrency: number;
  /** The pause of workers with nothing to do; deployed ones have 1,000. */
  readonly pollMs: number;
}

export interface Drained {
  /** The bill of all but the dispatcher, whose ticks cost the same whatever there is to do. */
  readonly cost: MeterReading;
  readonly tick: MeterReading;
  readonly claimed: number;
  readonly claimsRefused: number;
  readonly done: number;
  /** How long the workers took, in the time of the world that they worked in. */
  readonly seconds: number;
}

/** @param fill puts tasks of these definitions into the queue */
export function drain(
  world: World,
  settings: DrainSettings,
  definitions: Readonly<Record<string, unknown>>,
  fill: (client: TaskClient) => Promise<unknown>,
): Promise<Drained> {
  return world.run(async () => {
    const { queue, shards, workers } = settings;
    const [meter, tickMeter] = [createMeter(), createMeter()];
    const producer = world.placeOf(`${queue}/producer`);
    const { clock } = producer.runtime;
    const { tasks } = createTaskStores(new Sender({ ...producer, observer: meter }), { table: TABLE, shards });
    await fill(new TaskClient({ store: tasks, runtime: producer.runtime }, { queue }));
    const dealt = await dealOut({ ...producer, observer: tickMeter }, settings);
    const startedAt = clock.monotonic();
    const registry = registerTasks(definitions);
    const reports = await Promise.all(
      Array.from({ length: workers }, (_, worker) =>
        work(
          { ...world.placeOf(`${queue}/worker-${worker}`), observer: meter },
          registry,
          settings,
          dealt[worker] ?? { homeShards: [] },
        ),
      ),
    );
    const sum = (figure: (report: WorkerReport) => number): number =>
      reports.reduce((total, each) => total + figure(each), 0);
    return {
      cost: meter.read(),
      tick: tickMeter.read(),
      seconds: (clock.monotonic() - startedAt) / 1000,
      claimed: sum((each) => each.claimed),
      claimsRefused: sum((each) => each.claimsRefused),
      done: sum((each) => each.settled.done),
    };
  });
}

type Dealt = Pick<WorkerSettings, 'homeShards' | 'slice'>;
type Metered = Place & { readonly observer: ReturnType<typeof createMeter> };

/** The home shards of each worker, as a tick of the dispatcher deals them. */
async function dealOut(place: Metered, { queue, shards, workers }: DrainSettings): Promise<readonly Dealt[]> {
  const { runtime } = place;
  const dealt: Dealt[] = [];
  await dispatch(
    { schedule: queue, scheduledTime: 'only' },
    'bench',
    {
      ...createTaskStores(new Sender(place), { table: TABLE, shards }),
      schedules: undefined,
      runtime,
      workers: {
        startWorker: ({ homeShards, slice }) => Promise.resolve(void dealt.push({ homeShards, slice })),
        declareLimit: () => Promise.resolve(),
        liveHolders: () => Promise.resolve([]),
      },
      onDamaged: ignore,
    },
    { queue, shards, maxWorkers: workers, startWithinMs: 0, concurrency: 1, maxClockSkewMs: 1_000 },
  );
  return dealt;
}

async function work(
  place: Metered,
  registry: ReturnType<typeof registerTasks>,
  { queue, shards, concurrency, pollMs }: DrainSettings,
  { homeShards, slice }: Dealt,
): Promise<WorkerReport> {
  const stores = createTaskStores(new Sender(place), { table: TABLE, shards });
  const { runtime } = place;
  const timing = sessionTiming({ lockDelayMs: 0 });
  // A deployed worker is found by its permit, so its session is not listed, and if it leaves nothing behind, its TTL ends it.
  const options = { timing, name: 'bench', node: 'bench', behaviour: 'release', listed: false } as const;
  const session = await SessionHolder.create(options, { store: stores.sessions, runtime, gauge: noSkewGauge });
  const settings = {
    queue,
    shards,
    homeShards,
    slice,
    concurrency,
    pollMs,
    graceMs: 1_000,
    deadlineMonotonicMs: Infinity,
  };
  const ports = { ...stores, session, runtime, gauge: noSkewGauge, log: silent };
  const report = await runWorker(registry, ports, settings, new AbortController().signal);
  await session.end({ holdsNothing: leftNothing(report) });
  return report;
}

function ignore(): void {
  // It has no reader.
}
