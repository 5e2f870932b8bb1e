/**
 * How fast 2,000 no-op tasks pass through the queue with each driver, compared with two ceilings of the same engine.
 *
 * A ceiling sends only the minimum of a task, three conditional writes to rows of the same table:
 * no session, no polling, no decoding of rows; the same number of requests in flight.
 * One sends them as signed HTTP with the wire driver alone, one with the SDK's document client.
 * All alternate in one process, in a different order each round,
 * so they run on the same machine; compare the ratios and ignore the absolute rates.
 * CPU is this process's own: engines are separate processes.
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { Command } from 'commander';
import type { DynamoCalls, DynamoDriver } from '../shared/dynamo/engine/driver.ts';
import { sideBySide } from '../shared/core/runtime/in-flight.ts';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import type { BenchEngine } from './arguments.ts';
import { engineOption, wholeNumber } from './arguments.ts';
import type { Drained } from './drain.ts';
import { drain } from './drain.ts';
import { print, spreadOf } from './figures.ts';
import type { EngineTable, World } from './table.ts';
import { TABLE, openTable, worldOver } from './table.ts';
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
  const { json, ...settings } = parse(argv);
  await using table = await openTable(settings.engine);
  const rounds: Round[] = [];
  // The first round warms engine and compiler, and does not count.
  for (let round = 0; round <= settings.rounds; round++) {
    const figures = await roundOf(table, settings, round);
    const rates = CONTESTANTS.map((name) => `${name} ${Math.round(settings.tasks / figures[name].seconds)}`);
    console.error(`round ${round}${round === 0 ? ' (warm-up)' : ''}, tasks/s: ${rates.join(', ')}`);
    if (round > 0) rounds.push(figures);
  }
  print(figuresOf(rounds, settings), json);
  return rounds.every(({ wire, sdk }) => wire.done === settings.tasks && sdk.done === settings.tasks) ? 0 : 1;
}

const CONTESTANTS = ['wire', 'sdk', 'signedHttp', 'documentClient'] as const;
type Contestant = (typeof CONTESTANTS)[number];

interface Took {
  readonly seconds: number;
  readonly cpuMs: number;
}

type Round = Readonly<Record<'wire' | 'sdk', Took & Drained> & Record<'signedHttp' | 'documentClient', Took>>;

/** The starting contestant changes from round to round. */
async function roundOf(table: EngineTable, settings: Settings, round: number): Promise<Round> {
  const figures: Partial<Record<Contestant, Took | (Took & Drained)>> = {};
  for (let turn = 0; turn < CONTESTANTS.length; turn++) {
    const name = CONTESTANTS[(turn + round) % CONTESTANTS.length] ?? 'wire';
    figures[name] = await timed(() => play(table, settings, { name, round }));
  }
  return figures as unknown as Round;
}

async function play(
  table: EngineTable,
  settings: Settings,
  { name, round }: { readonly name: Contestant; readonly round: number },
): Promise<Drained | object> {
  switch (name) {
    case 'wire':
    case 'sdk':
      return drainOf(worldOver(table.drivers[name]), settings, `${name}${round}`);
    case 'signedHttp':
      return ceilingOf(driverWrites(table.drivers.wire), settings, `${name}${round}`);
    case 'documentClient':
      return ceilingOf(documentWrites(table.client), settings, `${name}${round}`);
  }
}

function drainOf(world: World, settings: Settings, queue: string): Promise<Drained> {
  const { tasks, workers, concurrency, mix } = settings;
  return drain(world, { queue, shards: SHARDS, pollMs: POLL_MS, workers, concurrency }, { noop }, (client) =>
    enqueueMix(client, tasks, mix, workers * concurrency),
  );
}

interface Writes {
  readonly put: (input: DynamoCalls['put']['input']) => Promise<unknown>;
  readonly update: (input: DynamoCalls['update']['input']) => Promise<unknown>;
}

function driverWrites(driver: DynamoDriver): Writes {
  const { signal } = new AbortController();
  return {
    put: (input) => driver.attempt('put', input, signal),
    update: (input) => driver.attempt('update', input, signal),
  };
}

function documentWrites(client: DynamoDBClient): Writes {
  const documents = DynamoDBDocumentClient.from(client);
  return {
    put: (input) => documents.send(new PutCommand(input)),
    update: (input) => documents.send(new UpdateCommand(input)),
  };
}

async function ceilingOf(writes: Writes, { tasks, workers, concurrency }: Settings, name: string): Promise<object> {
  const limit = sideBySide(workers * concurrency);
  const write = async (n: number): Promise<void> => {
    const Key = { pk: `raw#${name}#${n}`, sk: 'raw' };
    const readyKey = `raw#${name}#${n % SHARDS}`;
    await writes.put({
      TableName: TABLE,
      Item: { ...Key, state: 'ready', n, readyKey, readyAt: n },
      ConditionExpression: 'attribute_not_exists(pk)',
    });
    for (const [from, to, leaving] of [
      ['ready', 'running', ''],
      ['running', 'done', ' REMOVE readyKey, readyAt'],
    ] as const)
      await writes.update({
        TableName: TABLE,
        Key,
        ConditionExpression: '#state = :from',
        UpdateExpression: `SET #state = :to${leaving}`,
        ExpressionAttributeNames: { '#state': 'state' },
        ExpressionAttributeValues: { ':from': from, ':to': to },
      });
  };
  await Promise.all(Array.from({ length: tasks }, (_, n) => limit(() => write(n))));
  return {};
}

function figuresOf(rounds: readonly Round[], { tasks }: Settings): object {
  const over = (figure: (round: Round) => number) => spreadOf(rounds.map(figure));
  const of = (name: Contestant): object => ({
    tasksPerSecond: over((round) => tasks / round[name].seconds),
    cpuMsPerTask: over((round) => round[name].cpuMs / tasks),
  });
  return {
    wire: of('wire'),
    sdk: of('sdk'),
    ceilings: { signedHttp: of('signedHttp'), documentClient: of('documentClient') },
    ratios: {
      wireToSdk: over(({ wire, sdk }) => sdk.seconds / wire.seconds),
      wireToSignedHttp: over(({ wire, signedHttp }) => signedHttp.seconds / wire.seconds),
      wireToDocumentClient: over(({ wire, documentClient }) => documentClient.seconds / wire.seconds),
    },
    writeUnitsPerTask: over(({ wire }) => wire.cost.writeUnits / tasks),
    readUnitsPerTask: over(({ wire }) => wire.cost.readUnits / tasks),
    claimsRefused: over(({ wire }) => wire.claimsRefused),
    done: over(({ wire }) => wire.done),
  };
}

async function timed<T extends object>(work: () => Promise<T>): Promise<T & Took> {
  const startedAt = systemRuntime.clock.monotonic();
  const before = process.cpuUsage();
  const value = await work();
  const { user, system } = process.cpuUsage(before);
  return { ...value, seconds: (systemRuntime.clock.monotonic() - startedAt) / 1000, cpuMs: (user + system) / 1000 };
}

function parse(argv: readonly string[]): Settings & { readonly json?: boolean } {
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
    .option('--json', 'the figures as one JSON object, as the last line')
    .parse([...argv], { from: 'user' })
    .opts<
      Omit<Settings, 'mix'> &
        Omit<TaskMix, 'hasPriorities'> & { readonly priorities?: boolean; readonly json?: boolean }
    >();
  return { ...settings, mix: { hasPriorities: priorities === true, keys, lines, tenants, retries } };
}
