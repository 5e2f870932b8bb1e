/**
 * Whether a task costs the same in a long backlog as in a short one, and among many workers as with one.
 *
 * Every worker is a session of its own in this process, on the embedded engine. Rates are not compared: the engine and the machine are the same
 * for one worker and for sixteen. What is compared is what is paid: units a task, and claims that were refused.
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import Table from 'cli-table3';
import { Command, InvalidArgumentError } from 'commander';
import { startEngine } from '../local/engine.ts';
import { clientSettings } from '../shared/dynamo/sdk-driver.ts';
import { createTable } from '../shared/dynamo/table.ts';
import { systemRuntime } from '../shared/runtime/runtime.ts';
import type { Drained } from './drain.ts';
import { PLAIN, drain } from './drain.ts';

interface Settings {
  readonly tasks: readonly number[];
  readonly workers: readonly number[];
  readonly concurrency: number;
}

interface Measured extends Drained {
  readonly tasks: number;
  readonly workers: number;
  readonly seconds: number;
}

const FULL: Settings = { tasks: [10_000, 100_000], workers: [1, 2, 4, 8, 16], concurrency: 10 };
const QUICK: Settings = { tasks: [1_000, 3_000], workers: [1, 4, 16], concurrency: 10 };
/** Two for each of the most workers, as a dispatcher would deal them. */
const SHARDS = 32;
/** What counts as flat: the dearest row beside the cheapest, and refused claims among all. */
const FLAT = 0.05;
const TABLE = 'bench';

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  const engine = await startEngine({ kind: 'embedded' });
  const client = new DynamoDBClient({
    ...{ endpoint: engine.endpoint, region: 'us-east-1', ...clientSettings },
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
  });
  try {
    await createTable(client, TABLE);
    const rows: Measured[] = [];
    for (const tasks of settings.tasks)
      for (const workers of settings.workers) {
        const row = await measure(client, { tasks, workers, concurrency: settings.concurrency });
        console.error(`${tasks} tasks, ${workers} workers: ${Math.round(tasks / row.seconds)} tasks/s`);
        rows.push(row);
      }
    console.log(tableOf(rows));
    const failures = judge(rows);
    console.log(failures.length === 0 ? 'flat: yes' : `flat: NO\n${failures.join('\n')}`);
    return failures.length === 0 ? 0 : 1;
  } finally {
    client.destroy();
    await engine.stop();
  }
}

async function measure(
  client: DynamoDBClient,
  { tasks, workers, concurrency }: { readonly tasks: number; readonly workers: number; readonly concurrency: number },
): Promise<Measured> {
  const { clock } = systemRuntime;
  const startedAt = clock.monotonic();
  const settings = { tasks, workers, concurrency, shards: SHARDS, mix: PLAIN };
  const drained = await drain(client, TABLE, `scale-${tasks}-${workers}`, settings);
  return { ...drained, tasks, workers, seconds: (clock.monotonic() - startedAt) / 1000 };
}

function tableOf(rows: readonly Measured[]): string {
  const table = new Table({
    head: ['tasks', 'workers', 'done', 'write units a task', 'read units a task', 'refused claims'],
    style: { head: [], border: [], compact: true },
    colAligns: ['right', 'right', 'right', 'right', 'right', 'right'],
  });
  for (const row of rows)
    table.push([
      ...[row.tasks, row.workers, row.done],
      ...[(row.writeUnits / row.tasks).toFixed(3), (row.readUnits / row.tasks).toFixed(3)],
      `${(refusedShare(row) * 100).toFixed(2)} %`,
    ]);
  return table.toString();
}

/** What is not flat, in words. */
function judge(rows: readonly Measured[]): string[] {
  const units = rows.map(({ writeUnits, tasks }) => writeUnits / tasks);
  const spread = Math.max(...units) / Math.min(...units) - 1;
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const missing = rows.filter(({ done, tasks }) => done !== tasks);
  const contended = rows.filter((row) => refusedShare(row) > FLAT);
  return [
    ...(spread > FLAT ? [`write units a task differ by ${percent(spread)}, more than ${percent(FLAT)}`] : []),
    ...contended.map(
      (row) => `${row.tasks} tasks, ${row.workers} workers: ${percent(refusedShare(row))} of claims refused`,
    ),
    ...missing.map(({ tasks, workers, done }) => `${tasks} tasks, ${workers} workers: ${done} done`),
  ];
}

function refusedShare({ claimed, claimsRefused }: Drained): number {
  return claimsRefused / Math.max(1, claimed + claimsRefused);
}

function parse(argv: readonly string[]): Settings {
  const flags = new Command('npm run bench -- scale')
    .option('--quick', 'fewer tasks, fewer workers: a minute or two')
    .option('--tasks <list>', 'backlogs, separated by commas', wholeNumbers)
    .option('--workers <list>', 'numbers of workers, separated by commas', wholeNumbers)
    .parse([...argv], { from: 'user' })
    .opts<{ quick?: boolean; tasks?: readonly number[]; workers?: readonly number[] }>();
  const base = flags.quick === true ? QUICK : FULL;
  return { ...base, tasks: flags.tasks ?? base.tasks, workers: flags.workers ?? base.workers };
}

function wholeNumbers(text: string): readonly number[] {
  const numbers = text.split(',').map(Number);
  if (numbers.every((number) => Number.isInteger(number) && number >= 1)) return numbers;
  throw new InvalidArgumentError('give whole numbers of 1 or more, separated by commas');
}
