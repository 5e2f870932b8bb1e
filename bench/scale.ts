/**
 * Whether a task costs the same in a long backlog as in a short one, and among many workers as with one.
 *
 * It compares cost: units per task, and refused claims. Every worker is a session.
 * A worker also reads partitions in which it finds nothing, while it works and before it ends: its reads count at their price.
 * Time is simulated by default, because sixteen workers in one process
 * on one engine do not behave like sixteen workers: each would pay for its
 * heartbeats and occasional polls during the time that a task waits for the machine.
 * A partition of the simulated table takes any number of units a second, to compare designs; with `--partitions`, as many as DynamoDB's:
 * 1,000 write and 3,000 read units, so a shard bears 500 whole tasks a second.
 * `--engine embedded` measures exactly that. Enqueuing is counted; the dispatcher's tick is shown separately.
 */
import { Command, Option } from 'commander';
import { MAX_SHARDS } from '../functions/env.ts';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import { priceOf } from '../shared/operate/cost/prices.ts';
import { defineTask } from '../shared/tasks/task/definition.ts';
import { wholeNumber, wholeNumbers } from './arguments.ts';
import type { Drained } from './drain.ts';
import { drain } from './drain.ts';
import { print } from './figures.ts';
import type { World } from './table.ts';
import { openTable, simulatedWorld } from './table.ts';
import { PLAIN, enqueueMix } from './task-mix.ts';

interface Settings {
  readonly tasks: readonly number[];
  readonly workers: readonly number[];
  readonly shards: number;
  readonly concurrency: number;
  readonly taskMs: number;
  readonly engine: 'simulated' | 'embedded' | 'dynamodb-local';
  readonly partitions?: boolean;
  readonly json?: boolean;
}

interface Measured extends Drained {
  readonly tasks: number;
  readonly workers: number;
}

const FULL = { tasks: [3_000, 10_000], workers: [1, 16, 50] };
const QUICK = { tasks: [1_000, 3_000], workers: [1, 4, 16] };
const ENQUEUES_IN_FLIGHT = 64;
/** The limit for "flat": the spread between the dearest and the cheapest task, and the share of refused claims. */
const FLAT = 0.05;

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  const isLimited = settings.partitions === true;
  const limits = { writeUnits: isLimited, readUnits: isLimited };
  if (settings.engine === 'simulated') return await measureAll(settings, () => simulatedWorld(limits));
  await using table = await openTable(settings.engine);
  return await measureAll(settings, () => table.world);
}

async function measureAll(settings: Settings, worldOf: () => World): Promise<number> {
  const rows: Measured[] = [];
  for (const tasks of settings.tasks)
    for (const workers of settings.workers) {
      const startedAt = systemRuntime.clock.monotonic();
      const row = await measure(worldOf(), settings, { tasks, workers });
      const seconds = Math.round((systemRuntime.clock.monotonic() - startedAt) / 1000);
      console.error(`${tasks} tasks, ${workers} workers: measured in ${seconds} s`);
      rows.push(row);
    }
  const failures = judge(rows);
  print({ rows: rows.map(figuresOf), failures }, settings.json);
  return failures.length === 0 ? 0 : 1;
}

async function measure(
  world: World,
  { shards, concurrency, taskMs }: Settings,
  { tasks, workers }: { readonly tasks: number; readonly workers: number },
): Promise<Measured> {
  const { clock } = world.placeOf('task code').runtime;
  const noop = defineTask({ name: 'noop', run: () => (taskMs === 0 ? undefined : clock.sleep(taskMs)) });
  const queue = `scale-${tasks}-${workers}`;
  const settings = { queue, shards, workers, concurrency, pollMs: 1_000 };
  const drained = await drain(world, settings, { noop }, (client) =>
    enqueueMix(client, tasks, PLAIN, ENQUEUES_IN_FLIGHT),
  );
  return { ...drained, tasks, workers };
}

function figuresOf(row: Measured) {
  const { tasks, workers, done } = row;
  return {
    tasks,
    workers,
    done,
    writeUnitsPerTask: writeUnits(row),
    readUnitsPerTask: readUnits(row),
    dollarsAMillion: dollarsAMillion(row),
    refusedShare: refusedShare(row),
    tasksPerSecond: tasksPerSecond(row),
    tickReadUnits: row.tick.readUnits,
  };
}

/** Describes the figures that are not flat. */
function judge(rows: readonly Measured[]): string[] {
  const missing = rows.filter(({ done, tasks }) => done !== tasks);
  const contended = rows.filter((row) => refusedShare(row) > FLAT);
  return [
    ...(spreadOf(rows, dollarsAMillion) > FLAT
      ? [`NOT FLAT: the price of a task differs by ${percent(spreadOf(rows, dollarsAMillion))}`]
      : []),
    ...contended.map((row) => `${nameOf(row)}: ${percent(refusedShare(row))} of claims refused`),
    ...missing.map((row) => `${nameOf(row)}: ${row.done} done`),
  ];
}

function nameOf({ tasks, workers }: Measured): string {
  return `${tasks} tasks, ${workers} workers`;
}

function writeUnits({ cost, tasks }: Measured): number {
  return cost.writeUnits / tasks;
}

function readUnits({ cost, tasks }: Measured): number {
  return cost.readUnits / tasks;
}

/** Of the table alone, without enqueuing. */
function dollarsAMillion(row: Measured): number {
  return 1e6 * (writeUnits(row) * priceOf('writes') + readUnits(row) * priceOf('reads'));
}

function refusedShare({ claimed, claimsRefused }: Drained): number {
  return claimsRefused / Math.max(1, claimed + claimsRefused);
}

function tasksPerSecond({ tasks, seconds }: Measured): number {
  return tasks / seconds;
}

function spreadOf(rows: readonly Measured[], figure: (row: Measured) => number): number {
  const figures = rows.map(figure);
  return Math.max(...figures) / Math.min(...figures) - 1;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function parse(argv: readonly string[]): Settings {
  const { quick, ...flags } = new Command('npm run bench -- scale')
    .option('--quick', 'fewer tasks, fewer workers')
    .option('--tasks <list>', 'backlogs, separated by commas', wholeNumbers)
    .option('--workers <list>', 'numbers of workers, separated by commas', wholeNumbers)
    .option('--shards <n>', 'shards of the queue', wholeNumber(1, MAX_SHARDS), 16)
    .option('--concurrency <n>', 'tasks at a time in each worker', wholeNumber(1), 10)
    .option('--task-ms <n>', 'how long a task takes', wholeNumber(0), 20)
    .addOption(
      new Option('--engine <kind>', 'what they run on')
        .choices(['simulated', 'embedded', 'dynamodb-local'])
        .default('simulated'),
    )
    .option('--partitions', "simulated partitions take as many units as DynamoDB's")
    .option('--json', 'one JSON object')
    .parse([...argv], { from: 'user' })
    .opts<
      Omit<Settings, 'tasks' | 'workers'> & Partial<Pick<Settings, 'tasks' | 'workers'>> & { readonly quick?: boolean }
    >();
  return { ...(quick === true ? QUICK : FULL), ...flags };
}
