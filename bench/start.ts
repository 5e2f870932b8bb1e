/**
 * Time from enqueue to the first line of task code: with no warm environment,
 * with one, alongside a live worker, and alongside an idle `leasehold work`. Exits with 1 if a time exceeds its target.
 *
 * The shipped client, waker, worker and stores run in simulated time, so the figures are the same on any machine.
 * The latencies around them are modelled until there is evidence from AWS: see `bench/latencies.ts`.
 */
import { Command } from 'commander';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { sessionTiming } from '../shared/core/lease/timing.ts';
import { SessionHolder } from '../shared/session/keep-alive.ts';
import { runWithSchedules } from '../shared/client/run-with-schedules.ts';
import type { TaskRegistry } from '../shared/tasks/task/definition.ts';
import { defineTask, registerTasks } from '../shared/tasks/task/definition.ts';
import { percentile, print } from './figures.ts';
import type { Latencies } from './latencies.ts';
import { LATENCIES, describeLatencies } from './latencies.ts';
import { LATER_SCENES, measureLater } from './start-later.ts';
import { CONCURRENCY, QUEUE, SHARDS, WokenFleet } from './woken-fleet.ts';
import { wholeNumber } from './arguments.ts';
import { silent } from '../shared/testing/silent-log.ts';

const WANTED = {
  cold: { p50: 900, p99: 1_800, longest: 3_000 },
  warm: { p50: 450, p99: 1_200, longest: 3_000 },
  live: { p50: 750, p99: 1_500, longest: 3_000 },
  work: { p50: 650, p99: Infinity, longest: 3_000 },
  looks: { p50: Infinity, p99: Infinity, longest: Infinity },
} as const;
type Scene = keyof typeof WANTED;
const SCENES = Object.keys(WANTED) as Scene[];

/** Between a task's end and the next task: an idle worker's first minute, or a queue that is not at rest. */
const GAP_MS = {
  cold: { least: 4_000, most: 55_000 },
  warm: { least: 4_000, most: 55_000 },
  live: { least: 1_000, most: 9_000 },
  work: { least: 4_000, most: 55_000 },
  looks: { least: 4_000, most: 55_000 },
};
interface Figures {
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
}

export async function run(args: readonly string[]): Promise<number> {
  const { tasks, lag, json, dispatcher } = new Command('npm run bench -- start')
    .option('--tasks <n>', 'tasks in each scene', wholeNumber(1), 200)
    .option('--lag <ms>', 'how far the index is behind at most', wholeNumber(0), LATENCIES.indexLagMs)
    .option('--no-dispatcher', 'how late a first task begins that becomes due later, without a dispatcher')
    .option('--json', 'print one JSON object')
    .parse([...args], { from: 'user' })
    .opts<{
      readonly tasks: number;
      readonly lag: number;
      readonly json?: boolean;
      readonly dispatcher: boolean;
    }>();
  const latencies = { ...LATENCIES, indexLagMs: lag };
  if (!dispatcher) return runLater(tasks, latencies, json);
  const found: Partial<Record<Scene, Figures & { readonly isMet: boolean }>> = {};
  for (const scene of SCENES) {
    const figures = figuresOf(await measure(scene, tasks, latencies));
    found[scene] = { ...figures, isMet: isMet(wantedOf(scene, latencies), figures) };
  }
  print({ indexLagMs: lag, ...found, latencies: describeLatencies(latencies) }, json);
  return Object.values(found).every((figures) => figures.isMet) ? 0 : 1;
}

function wantedOf(scene: Scene, { indexLagMs }: Latencies): Figures {
  return scene === 'live' && indexLagMs < LATENCIES.indexLagMs ? { ...WANTED.live, p50: 300, p99: 650 } : WANTED[scene];
}

function isMet(wanted: Figures, { p50, p99, longest }: Figures): boolean {
  return p50 <= wanted.p50 && p99 <= wanted.p99 && longest <= wanted.longest;
}

async function runLater(tasks: number, latencies: Latencies, json?: boolean): Promise<number> {
  const found: Record<string, { readonly p50: number; readonly p99: number; readonly isMet: boolean }> = {};
  for (const scene of LATER_SCENES) {
    const { p50, p99 } = figuresOf(await measureLater(scene, tasks, latencies, workForEver));
    found[scene.name] = { p50, p99, isMet: p99 <= scene.wanted.p99 };
  }
  print(found, json);
  return Object.values(found).every((figures) => figures.isMet) ? 0 : 1;
}

/** Milliseconds of each task. */
async function measure(scene: Scene, tasks: number, latencies: Latencies): Promise<readonly number[]> {
  const begun = new Map<string, number>();
  const state: { fleet?: WokenFleet } = {};
  const quick = defineTask({
    name: 'quick',
    run: (_: unknown, { id }) => void begun.set(id, state.fleet?.timeline.now ?? NaN),
  });
  /** Keeps its worker at work. */
  const endless = defineTask({ name: 'endless', run: (_: unknown, { signal }) => untilAborted(signal) });
  const fleet = new WokenFleet({
    seed: BigInt(SCENES.indexOf(scene) + 1),
    registry: registerTasks({ quick, endless }),
    maxWorkers: 10,
    startWithinMs: 10_000,
    tickEveryMs: 60_000,
    workerLifeMs: 1e9,
    latencies,
    keepsEnvironments: scene !== 'cold',
    // Beside `work` nothing is deployed.
    ...(isOfWork(scene) ? { wakes: 'dropped' as const, tickEveryMs: 1e9 } : {}),
  });
  state.fleet = fleet;
  const { clock, random } = fleet.place('user').runtime;
  if (isOfWork(scene)) void workForEver(fleet, registerTasks({ quick }), { hears: scene === 'work' });
  const one = async (nth: number): Promise<number> => {
    const { least, most } = GAP_MS[scene];
    await clock.sleep(least + random.next() * (most - least));
    const id = `t${nth}`;
    const at = fleet.timeline.now;
    await fleet.client.enqueue(quick, null, { id });
    const outcome = await fleet.client.result(id, { wait: '10m' });
    if (outcome.kind !== 'done') throw new Error(`${id} is ${outcome.kind}`);
    return (begun.get(id) ?? NaN) - at;
  };
  const all = async (): Promise<readonly number[]> => {
    if (scene === 'live') await fleet.client.enqueue(endless, null);
    if (scene === 'warm') await one(-1);
    const times: number[] = [];
    for (let nth = 0; nth < tasks; nth++) times.push(await one(nth));
    return times;
  };
  return fleet.run(all());
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function isOfWork(scene: Scene): boolean {
  return scene === 'work' || scene === 'looks';
}

/** Composed like `leasehold work`: on a local engine the table's stream announces tasks to it, elsewhere it polls. */
async function workForEver(
  fleet: WokenFleet,
  registry: TaskRegistry,
  { hears }: { readonly hears: boolean },
): Promise<void> {
  const { runtime, stores } = fleet.place('work');
  const gauge = noSkewGauge;
  const session = await SessionHolder.create(
    { timing: sessionTiming({ lockDelayMs: 0 }), name: 'work', node: 'laptop', behaviour: 'release' },
    { store: stores.sessions, runtime, gauge },
  );
  const onEnqueued = (listener: (ids: readonly string[]) => void): (() => void) => {
    const follow = (id: string): void => listener([id]);
    fleet.followers.add(follow);
    return () => {
      fleet.followers.delete(follow);
    };
  };
  const settings = { queue: QUEUE, shards: SHARDS, concurrency: CONCURRENCY, graceMs: 5_000, untilDrained: false };
  const ports = { ...stores, session, runtime, gauge, log: silent, onEnqueued: hears ? onEnqueued : undefined };
  await runWithSchedules(registry, ports, settings, new AbortController().signal);
}

function figuresOf(times: readonly number[]): Figures {
  const [p50, p99, longest] = [0.5, 0.99, 1].map((part) => Math.round(percentile(times, part)));
  return { p50, p99, longest } as Figures;
}
