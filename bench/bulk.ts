/**
 * Compares many small tasks in packs with the same tasks one by one, in one run on one engine.
 *
 * The two alternate in one process, so both run on the same machine; compare the ratio and ignore the absolute rates.
 * Tasks do nothing; `--record-each` records the end of each task separately,
 * which is the highest cost of a task in a pack that makes no writes itself.
 */
import { Command } from 'commander';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import type { TaskClient } from '../shared/tasks/queue/task-client.ts';
import type { AnyTask } from '../shared/tasks/task/definition.ts';
import { defineTask } from '../shared/tasks/task/definition.ts';
import type { BenchEngine } from './arguments.ts';
import { engineOption, wholeNumber } from './arguments.ts';
import type { Drained } from './drain.ts';
import { drain } from './drain.ts';
import { median, tableOf } from './figures.ts';
import type { World } from './table.ts';
import { openTable } from './table.ts';

interface Settings {
  readonly tasks: number;
  readonly packSize: number;
  readonly workers: number;
  readonly concurrency: number;
  readonly rounds: number;
  readonly engine: BenchEngine;
  readonly recordEach: boolean;
  readonly json?: boolean;
}

const SHARDS = 8;
const POLL_MS = 100;
/** 60 bytes as JSON, with the index in six digits. */
const INPUT_KEY = '2026/11/21/IMG_20261121_';

type Round = Readonly<Record<'plain' | 'bulk', Drained & { readonly wallSeconds: number }>>;

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  await using table = await openTable(settings.engine);
  const rounds: Round[] = [];
  // The first round warms engine and compiler, and does not count.
  for (let round = 0; round <= settings.rounds; round++) {
    const plain = await measure(table.world, settings, `plain${round}`, enqueueOneByOne(settings));
    const bulk = await measure(table.world, settings, `bulk${round}`, enqueueInBulk(settings));
    const name = `round ${round}${round === 0 ? ' (warm-up)' : ''}`;
    console.error(`${name}: ${rate(settings, bulk)} tasks/s in bulk, ${rate(settings, plain)} one by one`);
    if (round > 0) rounds.push({ plain, bulk });
  }
  const figures = figuresOf(rounds, settings);
  console.log(settings.json === true ? JSON.stringify(figures) : report(figures, settings));
  return rounds.every(({ plain, bulk }) => plain.done === settings.tasks && bulk.done === settings.tasks) ? 0 : 1;
}

type Enqueue = (tasks: TaskClient, noop: AnyTask) => Promise<unknown>;

function enqueueOneByOne({ tasks, workers, concurrency }: Settings): Enqueue {
  return async (client, noop) => {
    const asked = await Promise.all(inputsOf(tasks).map((input) => client.validate(noop, input)));
    await client.enqueueAll(asked, { inFlight: workers * concurrency });
  };
}

function enqueueInBulk({ tasks, packSize }: Settings): Enqueue {
  return (client, noop) => client.enqueueBulk(noop, inputsOf(tasks), { packSize });
}

async function measure(
  world: World,
  { workers, concurrency, recordEach }: Settings,
  queue: string,
  enqueue: Enqueue,
): Promise<Round['bulk']> {
  const { clock } = systemRuntime;
  const noop = defineTask<never, undefined>({
    name: 'noop',
    ...(recordEach ? { bulk: { flushInterval: 0 } } : {}),
    run: () => undefined,
  });
  const startedAt = clock.monotonic();
  const drained = await drain(
    world,
    { queue, shards: SHARDS, workers, concurrency, pollMs: POLL_MS },
    { noop },
    (tasks) => enqueue(tasks, noop),
  );
  return { ...drained, wallSeconds: (clock.monotonic() - startedAt) / 1000 };
}

function inputsOf(count: number): readonly unknown[] {
  return Array.from({ length: count }, (_, n) => ({
    bucket: 'eu',
    key: `${INPUT_KEY}${String(n).padStart(6, '0')}.jpg`,
  }));
}

function rate({ tasks }: Settings, { wallSeconds }: { readonly wallSeconds: number }): number {
  return Math.round(tasks / wallSeconds);
}

/** Medians, and of the ratio of the two its range. */
interface Figure {
  readonly plain: number;
  readonly bulk: number;
  readonly ratio: { readonly median: number; readonly min: number; readonly max: number };
}

function figuresOf(rounds: readonly Round[], { tasks }: Settings) {
  const of = (figure: (each: Round['bulk']) => number): Figure => {
    const ratios = rounds.map(({ plain, bulk }) => figure(bulk) / figure(plain));
    return {
      plain: median(rounds.map(({ plain }) => figure(plain))),
      bulk: median(rounds.map(({ bulk }) => figure(bulk))),
      ratio: { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) },
    };
  };
  return {
    rounds: rounds.length,
    tasksPerSecond: of(({ wallSeconds }) => tasks / wallSeconds),
    writeUnitsPerTask: of(({ cost }) => cost.writeUnits / tasks),
    readUnitsPerTask: of(({ cost }) => cost.readUnits / tasks),
    requestsPerTask: of(({ cost }) => cost.requests / tasks),
    done: of(({ done }) => done),
  };
}

function report(figures: ReturnType<typeof figuresOf>, settings: Settings): string {
  const { tasks, workers, concurrency, engine, packSize, recordEach } = settings;
  const row = (name: string, { plain, bulk, ratio }: Figure, digits: number): readonly string[] => {
    const cells = [ratio.median, ratio.min, ratio.max].map((each) => each.toFixed(2));
    return [name, plain.toFixed(digits), bulk.toFixed(digits), ...cells];
  };
  const table = tableOf(
    ['median', 'one by one', 'in bulk', 'in bulk / one by one: median', 'least', 'most'],
    [
      row('tasks/s', figures.tasksPerSecond, 0),
      row('write units a task', figures.writeUnitsPerTask, 3),
      row('read units a task', figures.readUnitsPerTask, 3),
      row('requests a task', figures.requestsPerTask, 2),
      row('done', figures.done, 0),
    ],
  );
  const how = recordEach ? 'each end recorded by itself' : 'ends recorded together';
  return (
    `${tasks} no-op tasks of 60 bytes, ${packSize} a pack, ${how}; ` +
    `${workers} workers of ${concurrency}, engine ${engine}, ${figures.rounds} rounds in turn\n${table}`
  );
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- bulk')
    .option('--tasks <n>', 'tasks a round', wholeNumber(1), 2_000)
    .option('--pack-size <n>', 'tasks a pack', wholeNumber(1), 16)
    .option('--workers <n>', 'workers', wholeNumber(1), 4)
    .option('--concurrency <n>', 'tasks, or packs, at a time in each', wholeNumber(1), 10)
    .option('--rounds <n>', 'rounds that count', wholeNumber(1), 5)
    .addOption(engineOption())
    .option('--record-each', 'record the end of each task by itself', false)
    .option('--json', 'one JSON object instead of a table')
    .parse([...argv], { from: 'user' })
    .opts<Settings>();
}
