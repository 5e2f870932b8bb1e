/**
 * `npm run bench -- listing`: what `leasehold tasks list` takes in a queue in which many tasks wait, with and without a filter.
 * Exits with 1 if a listing takes longer than its target.
 *
 * The command runs in a process of its own, on the embedded engine: times depend on the load, which is printed beside them.
 */
import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import path from 'node:path';
import { BatchWriteItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Command } from 'commander';
import { startEngine } from '../local/engine.ts';
import { createLeasehold } from '../shared/client/leasehold.ts';
import { clientFor } from './table.ts';
import { shardOf } from '../shared/dynamo/engine/keys.ts';
import { DEFAULT_SHARDS } from '../shared/tasks/task/task.ts';
import { defineTask } from '../shared/tasks/task/definition.ts';
import { wholeNumber } from './arguments.ts';
import { round, tableOf } from './figures.ts';
import { createSilentTable } from './silent-table.ts';

const TABLE = 'leasehold';
const WANTED_S = 3;
const AT_ONCE = 8;
const BATCH = 25;
const LISTINGS = [
  ['--limit', '100'],
  ['--name', 'nothing'],
  ['--name', 'nothing', '--max-read-units', '500'],
  ['--state', 'dead'],
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
    await fill(client, engine.endpoint, tasks);
    const startS = (await timed(['--version'])).seconds;
    const found: (Listed & { readonly args: string })[] = [];
    for (const args of LISTINGS)
      found.push({ args: args.join(' '), ...(await timed(['tasks', 'list', ...args, '--endpoint', engine.endpoint])) });
    const load = round(loadavg()[0] ?? NaN);
    if (json) console.log(JSON.stringify({ tasks, startS, found, load }));
    else {
      const rows = found.map(({ args, seconds, said }) => [args, round(seconds), said]);
      console.log(tableOf([`tasks list, ${tasks} wait`, 'seconds', 'standard error'], rows));
      console.log(`The command takes ${round(startS)} s to start; load ${load}.`);
    }
    return found.every(({ seconds }) => seconds - startS <= WANTED_S) ? 0 : 1;
  } finally {
    client.destroy();
    await engine.stop();
  }
}

/** Copies one task's row: writing each by `enqueue` would take minutes. */
async function fill(client: DynamoDBClient, endpoint: string, tasks: number): Promise<void> {
  using leasehold = createLeasehold({ endpoint });
  await leasehold.tasks.enqueue(waiting, null, { id: 'template' });
  const { Items = [] } = await client.send(new ScanCommand({ TableName: TABLE }));
  const template = Items.find(({ id }) => id?.S === 'template');
  if (template === undefined) throw new Error('the template was not written');
  let made = 0;
  const write = async (): Promise<void> => {
    while (made < tasks) {
      const from = made;
      made += BATCH;
      const copies = Array.from({ length: BATCH }, (_, nth) => copyOf(template, `t${from + nth}`));
      const puts = copies.map((Item) => ({ PutRequest: { Item } }));
      await client.send(new BatchWriteItemCommand({ RequestItems: { [TABLE]: puts } }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, write));
}

function copyOf(template: Readonly<Record<string, AttributeValue>>, id: string): Record<string, AttributeValue> {
  const copy = JSON.parse(JSON.stringify(template).replaceAll('template', id)) as Record<string, AttributeValue>;
  const { readyKey } = copy;
  return { ...copy, readyKey: { S: String(readyKey?.S).replace(/\d+$/, String(shardOf(id, DEFAULT_SHARDS))) } };
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
