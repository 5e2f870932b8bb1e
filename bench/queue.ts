/**
 * How fast 2,000 no-op tasks pass through the queue, beside the raw ceiling of the same engine.
 *
 * The ceiling sends what a task cannot do without, three conditional writes to rows of the same table, and nothing else:
 * no session, no polling, no decoding; the same client, the same number of requests in flight.
 * The two take turns in one process, so that they meet the same machine; the ratio is the figure, the rates are not.
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import Table from 'cli-table3';
import { Command } from 'commander';
import pLimit from 'p-limit';
import { systemRuntime } from '../shared/runtime/runtime.ts';
import type { BenchEngine } from './arguments.ts';
import { engineOption, wholeNumber } from './arguments.ts';
import type { Drained } from './drain.ts';
import { drain } from './drain.ts';
import { median } from './statistics.ts';
import type { EngineTable } from './table.ts';
import { TABLE, openTable } from './table.ts';
import type { TaskMix } from './task-mix.ts';
import { enqueueMix, noop } from './task-mix.ts';

interface Settings {
  readonly tasks: number;
  readonly workers: number;
  readonly concurrency: number;
  readonly rounds: number;
  readonly engine: BenchEngine;
  readonly mix: TaskMix;
}

const SHARDS = 8;
const POLL_MS = 100;

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  await using table = await openTable(settings.engine);
  const rounds: Round[] = [];
  // The first round warms engine and compiler, and does not count.
  for (let round = 0; round <= settings.rounds; round++) {
    const ceiling = await timed(() => ceilingOf(table.client, settings, round));
    const queue = await timed(() => drainOf(table, settings, round));
    console.error(
      `round ${round}${round === 0 ? ' (warm-up)' : ''}: ${Math.round(settings.tasks / queue.seconds)} tasks/s of ${Math.round(settings.tasks / ceiling.seconds)}`,
    );
    if (round > 0) rounds.push({ ...queue.value, ceilingSeconds: ceiling.seconds, queueSeconds: queue.seconds });
  }
  console.log(report(rounds, settings));
  return rounds.every(({ done }) => done === settings.tasks) ? 0 : 1;
}

function drainOf({ world }: EngineTable, settings: Settings, round: number): Promise<Drained> {
  const { tasks, workers, concurrency, mix } = settings;
  return drain(
    world,
    { queue: `q${round}`, shards: SHARDS, pollMs: POLL_MS, workers, concurrency },
    { noop },
    (client) => enqueueMix(client, tasks, mix, workers * concurrency),
  );
}

type Round = Drained & { readonly ceilingSeconds: number; readonly queueSeconds: number };

async function ceilingOf(
  client: DynamoDBClient,
  { tasks, workers, concurrency }: Settings,
  round: number,
): Promise<void> {
  const documents = DynamoDBDocumentClient.from(client);
  const limit = pLimit(workers * concurrency);
  const write = async (n: number): Promise<void> => {
    const Key = { pk: `raw#${round}#${n}`, sk: 'raw' };
    const readyKey = `raw#${round}#${n % SHARDS}`;
    await documents.send(
      new PutCommand({
        TableName: TABLE,
        Item: { ...Key, state: 'ready', n, readyKey, readyAt: n },
        ConditionExpression: 'attribute_not_exists(pk)',
      }),
    );
    for (const [from, to, leaving] of [
      ['ready', 'running', ''],
      ['running', 'done', ' REMOVE readyKey, readyAt'],
    ] as const)
      await documents.send(
        new UpdateCommand({
          TableName: TABLE,
          Key,
          ConditionExpression: '#state = :from',
          UpdateExpression: `SET #state = :to${leaving}`,
          ExpressionAttributeNames: { '#state': 'state' },
          ExpressionAttributeValues: { ':from': from, ':to': to },
        }),
      );
  };
  await Promise.all(Array.from({ length: tasks }, (_, n) => limit(write, n)));
}

function report(rounds: readonly Round[], { tasks, workers, concurrency, engine, mix }: Settings): string {
  const table = new Table({ head: ['figure', 'median', 'least', 'most'], style: { head: [], border: [] } });
  const row = (name: string, figure: (round: Round) => number, digits: number): void => {
    const values = rounds.map(figure);
    const shown = [median(values), Math.min(...values), Math.max(...values)];
    table.push([name, ...shown.map((value) => value.toFixed(digits))]);
  };
  row('queue, tasks/s', ({ queueSeconds }) => tasks / queueSeconds, 0);
  row('ceiling, tasks/s', ({ ceilingSeconds }) => tasks / ceilingSeconds, 0);
  row('queue / ceiling', ({ queueSeconds, ceilingSeconds }) => ceilingSeconds / queueSeconds, 2);
  row('write units a task', ({ cost }) => cost.writeUnits / tasks, 3);
  row('read units a task', ({ cost }) => cost.readUnits / tasks, 3);
  row('refused claims, % of claims', ({ claimsRefused }) => (claimsRefused / (tasks + claimsRefused)) * 100, 2);
  row('done', ({ done }) => done, 0);
  return `${tasks} no-op tasks${describe(mix)}, ${workers} workers of ${concurrency}, engine ${engine}, ${rounds.length} rounds in turn with the ceiling\n${table.toString()}`;
}

function describe({ hasPriorities, keys, lines, tenants, retries }: TaskMix): string {
  return [
    ...(hasPriorities ? [' of all priorities'] : []),
    ...(keys > 0 ? [` of ${keys} keys`] : []),
    ...(lines > 0 ? [` in ${lines} lines`] : []),
    ...(tenants > 0 ? [` of ${tenants} tenants`] : []),
    ...(retries > 0 ? [`, ${retries} % of which fail once`] : []),
  ].join('');
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly seconds: number; readonly value: T }> {
  const startedAt = systemRuntime.clock.monotonic();
  const value = await work();
  return { seconds: (systemRuntime.clock.monotonic() - startedAt) / 1000, value };
}

function parse(argv: readonly string[]): Settings {
  const { priorities, keys, lines, tenants, retries, ...settings } = new Command('npm run bench -- queue')
    .option('--tasks <n>', 'tasks a round', wholeNumber(1), 2_000)
    .option('--workers <n>', 'workers', wholeNumber(1), 4)
    .option('--concurrency <n>', 'tasks at a time in each', wholeNumber(1), 10)
    .option('--rounds <n>', 'rounds that count', wholeNumber(1), 5)
    .addOption(engineOption())
    .option('--priorities', 'tasks of all priorities')
    .option('--keys <n>', 'spread over so many keys, each with a limit of 2', wholeNumber(0), 0)
    .option('--lines <n>', 'spread over so many keys, each in strict order', wholeNumber(0), 0)
    .option('--tenants <n>', 'spread over so many tenants', wholeNumber(0), 0)
    .option('--retries <percent>', 'tasks whose first attempt fails', wholeNumber(0, 100), 0)
    .parse([...argv], { from: 'user' })
    .opts<Omit<Settings, 'mix'> & Omit<TaskMix, 'hasPriorities'> & { readonly priorities?: boolean }>();
  return { ...settings, mix: { hasPriorities: priorities === true, keys, lines, tenants, retries } };
}
