/**
 * `npm run bench -- heard`: on one machine, from the call of `enqueue` to the first line of the task's code.
 *
 * The worker is in the same process, or in one of its own, as under `leasehold dev`; the table is on the embedded engine.
 * Exits with 1 if a median is above its bound. Latencies are real, so a busy machine shows more.
 */
import { fork } from 'node:child_process';
import path from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import Table from 'cli-table3';
import { Command } from 'commander';
import { startEngine } from '../local/engine.ts';
import { createWorker } from '../shared/client/create-worker.ts';
import { createLeasehold } from '../shared/client/leasehold.ts';
import { systemClock as clock } from '../shared/core/runtime/clock.ts';
import { createTable } from '../shared/dynamo/table.ts';
import { defineTask } from '../shared/tasks/task/definition.ts';
import { wholeNumber } from './arguments.ts';
import { silent } from './idle-world.ts';
import { median } from './statistics.ts';

const TABLE = 'leasehold';
const WANTED_MS = { sameProcess: 10, ownProcess: 15 } as const;
type Scene = keyof typeof WANTED_MS;
const NAMES: Readonly<Record<Scene, string>> = { sameProcess: 'in the same process', ownProcess: 'in its own process' };
/** Longer than a worker that has just started polls often. */
const QUIET_MS = 3_000;

interface Worker {
  /** Calls back with the id of each task that begins. */
  onBegun(listener: (id: string) => void): void;
  stop(): Promise<void>;
}

export async function run(argv: readonly string[]): Promise<number> {
  const { tasks, json = false } = new Command('npm run bench -- heard')
    .option('--tasks <n>', 'tasks in each scene', wholeNumber(1), 40)
    .option('--json', 'print one JSON object as the last line')
    .parse([...argv], { from: 'user' })
    .opts<{ readonly tasks: number; readonly json?: boolean }>();
  const figures = {
    sameProcess: await measure(workHere, tasks),
    ownProcess: await measure(workElsewhere, tasks),
  };
  const isMet = figures.sameProcess.p50 <= WANTED_MS.sameProcess && figures.ownProcess.p50 <= WANTED_MS.ownProcess;
  if (json) console.log(JSON.stringify({ tasks, ...figures, isMet }));
  else console.log(tableOf(figures));
  return isMet ? 0 : 1;
}

interface Figures {
  readonly p50: number;
  readonly least: number;
  readonly most: number;
}

async function measure(start: (endpoint: string) => Worker, tasks: number): Promise<Figures> {
  const engine = await startEngine({ kind: 'embedded' });
  const { endpoint } = engine;
  await createLocalTable(endpoint);
  using leasehold = createLeasehold({ table: TABLE, endpoint });
  const worker = start(endpoint);
  const begun = new Map<string, (at: number) => void>();
  worker.onBegun((id) => begun.get(id)?.(clock.monotonic()));
  const took: number[] = [];
  try {
    for (let nth = -1; nth < tasks; nth++) {
      const { promise, resolve } = Promise.withResolvers<number>();
      begun.set(`t${nth}`, resolve);
      const at = clock.monotonic();
      await leasehold.tasks.enqueue('heard', null, { id: `t${nth}` });
      const ms = (await promise) - at;
      // The first one waits until the worker has started.
      if (nth >= 0) took.push(ms);
      await clock.sleep(nth < 0 ? QUIET_MS : 300);
    }
  } finally {
    await worker.stop();
    await engine.stop();
  }
  return { p50: median(took), least: Math.min(...took), most: Math.max(...took) };
}

async function createLocalTable(endpoint: string): Promise<void> {
  const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' };
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  await createTable(client, TABLE);
  client.destroy();
}

function workHere(endpoint: string): Worker {
  let begun: ((id: string) => void) | undefined;
  const heard = defineTask({ name: 'heard', run: (_input, { id }) => begun?.(id) });
  const worker = createWorker({ heard }, { table: TABLE, endpoint, log: silent });
  const running = worker.run();
  return {
    onBegun: (listener) => void (begun = listener),
    async stop() {
      worker.stop();
      await running;
    },
  };
}

function workElsewhere(endpoint: string): Worker {
  const child = fork(path.join(import.meta.dirname, 'heard/worker.ts'), [endpoint]);
  const { promise: exited, resolve } = Promise.withResolvers<undefined>();
  child.once('exit', () => resolve(undefined));
  return {
    onBegun: (listener) => void child.on('message', (id: string) => listener(id)),
    async stop() {
      child.kill();
      await exited;
    },
  };
}

function tableOf(figures: Readonly<Record<Scene, Figures>>): string {
  const table = new Table({ head: ['worker', 'p50 ms', 'least', 'most', 'wanted'], style: { head: [], border: [] } });
  for (const scene of Object.keys(NAMES) as Scene[]) {
    const { p50, least, most } = figures[scene];
    table.push([NAMES[scene], ...[p50, least, most].map((ms) => ms.toFixed(1)), `≤ ${WANTED_MS[scene]}`]);
  }
  return table.toString();
}
