/**
 * `npm run bench -- listing`: what `leasehold tasks list` takes in a queue in which many tasks wait, with and without a filter, and in a
 * queue that lists as many finished ones; and `leasehold tasks find`, for a part of a label.
 * Exits with 1 if a listing takes longer than its target.
 *
 * The command runs as a separate process on the embedded engine, so times depend on the load, which is printed.
 */
import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import path from 'node:path';
import { BatchWriteItemCommand, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Command } from 'commander';
import { startEngine } from '../local/engine.ts';
import { createLeasehold } from '../shared/client/leasehold.ts';
import { createWorker } from '../shared/client/create-worker.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import { silent } from '../shared/testing/silent-log.ts';
import { clientFor } from './table.ts';
import { shardOf, taskKey } from '../shared/dynamo/engine/keys.ts';
import { DEFAULT_QUEUE, DEFAULT_SHARDS } from '../shared/tasks/task/task.ts';
import { defineTask } from '../shared/tasks/task/definition.ts';
import { wholeNumber } from './arguments.ts';
import { print, round } from './figures.ts';
import { createSilentTable } from './silent-table.ts';

const TABLE = 'leasehold';
const WANTED_S = 3;
const AT_ONCE = 8;
const DAY_MS = 86_400_000;
const BATCH = 25;
const ENDED = 'ended';
const LISTED = 1_000;
const LISTINGS = [
  ['list', '--limit', '100'],
  ['list', '--name', 'nothing'],
  ['list', '--name', 'nothing', '--max-read-units', '500'],
  ['list', '--state', 'dead'],
  ['list', '--state', 'done', '--queue', ENDED, '--limit', String(LISTED)],
  ['find', 'order o-7.', '--queue', ENDED],
];
const waiting = defineTask({ name: 'waiting', run: (_: null) => undefined });

interface Settings {
  readonly tasks: number;
  readonly json: boolean;
}

export async function run(argv: readonly string[]): Promise<number> {
  const { tasks, json } = new Command('npm run bench -- listing')
    .description('Seconds of `leasehold tasks list` while many tasks wait.')
    .option('--tasks <n>', 'how many wait', wholeNumber(1), 100_000)
    .option('--json', 'the figures as one JSON object', false)
    .parse(argv, { from: 'user' })
    .opts<Settings>();
  const engine = await startEngine({ kind: 'embedded', isBare: true });
  const client = clientFor(engine.endpoint);
  try {
    await createSilentTable(client, TABLE);
    await fill(client, await waitingRow(client, engine.endpoint), tasks);
    await fill(client, await endedRow(client, engine.endpoint), tasks);
    const startS = (await timed(['--version'])).seconds;
    const found: (Listed & { readonly args: string })[] = [];
    for (const args of LISTINGS)
      found.push({ args: args.join(' '), ...(await timed(['tasks', ...args, '--endpoint', engine.endpoint])) });
    const ended = await listEnded(engine.endpoint);
    const load = round(loadavg()[0] ?? NaN);
    print({ tasks, startS, found, ended, load }, json);
    return found.every(({ seconds }) => seconds - startS <= WANTED_S) ? 0 : 1;
  } finally {
    client.destroy();
    await engine.stop();
  }
}

/** A row to copy: writing each by `enqueue` would take minutes. */
type Row = Readonly<Record<string, AttributeValue>>;

async function waitingRow(client: DynamoDBClient, endpoint: string): Promise<Row> {
  using leasehold = createLeasehold({ endpoint });
  await leasehold.tasks.enqueue(waiting, null, { id: 'template' });
  return await rowOf(client, DEFAULT_QUEUE);
}

/** Its label ends with a dot, so that no number is a part of another's. */
async function endedRow(client: DynamoDBClient, endpoint: string): Promise<Row> {
  using leasehold = createLeasehold({ endpoint, queue: ENDED });
  await leasehold.tasks.enqueue(waiting, null, { id: 'template', label: 'order o-template.' });
  await createWorker(
    { waiting },
    { endpoint, queue: ENDED, listFinished: true, untilDrained: true, log: silent },
  ).run();
  return await rowOf(client, ENDED);
}

function keyOf(queue: string): Record<string, AttributeValue> {
  const { pk, sk } = taskKey(queue, 'template');
  return { pk: { S: pk }, sk: { S: sk } };
}

async function rowOf(client: DynamoDBClient, queue: string): Promise<Row> {
  const { Item } = await client.send(new GetItemCommand({ TableName: TABLE, Key: keyOf(queue) }));
  if (Item === undefined) throw new Error('the template was not written');
  return Item;
}

async function fill(client: DynamoDBClient, template: Row, tasks: number): Promise<void> {
  let made = 0;
  const write = async (): Promise<void> => {
    while (made < tasks) {
      const from = made;
      made += BATCH;
      const copies = Array.from({ length: BATCH }, (_, nth) => copyOf(template, from + nth));
      const puts = copies.map((Item) => ({ PutRequest: { Item } }));
      await client.send(new BatchWriteItemCommand({ RequestItems: { [TABLE]: puts } }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, write));
}

/** Ended copies end one millisecond after the other, long before the template. */
function copyOf(template: Row, nth: number): Record<string, AttributeValue> {
  const copy = JSON.parse(JSON.stringify(template).replaceAll('template', String(nth))) as Record<
    string,
    AttributeValue
  >;
  const shard = String(shardOf(String(nth), DEFAULT_SHARDS));
  const placed = (key: 'readyKey' | 'directoryKey') =>
    copy[key] === undefined ? {} : { [key]: { S: String(copy[key].S).replace(/\d+$/, shard) } };
  const name = copy.directoryName?.S;
  const at = name === undefined ? undefined : new Date(Date.now() - DAY_MS + nth).toISOString();
  const ended = name === undefined || at === undefined ? {} : { directoryName: { S: at + name.slice(at.length) } };
  return { ...copy, ...placed('readyKey'), ...placed('directoryKey'), ...ended };
}

/** The same by the library, which says what it read. */
async function listEnded(endpoint: string): Promise<{ readonly seconds: number; readonly readUnits: number }> {
  const meter = createMeter();
  using leasehold = createLeasehold({ endpoint, queue: ENDED, observer: meter });
  const from = performance.now();
  let left = LISTED;
  for await (const _ of leasehold.operator.ended({ states: ['done'] })) if (--left === 0) break;
  if (left > 0) throw new Error(`${left} too few are listed`);
  return { seconds: (performance.now() - from) / 1_000, readUnits: meter.read().readUnits };
}

interface Listed {
  readonly seconds: number;
  /** On standard error. */
  readonly said: string;
}

async function timed(args: readonly string[]): Promise<Listed> {
  const command = path.resolve(import.meta.dirname, '..', 'api', 'command.ts');
  const from = performance.now();
  const said = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [command, ...args], (error, _, stderr) => {
      if (error === null) resolve(stderr.trim());
      else reject(new Error(`leasehold ${args.join(' ')} failed`, { cause: error }));
    });
  });
  return { seconds: (performance.now() - from) / 1_000, said };
}
