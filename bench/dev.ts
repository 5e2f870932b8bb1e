/**
 * `npm run bench -- dev`: from the call of `enqueue` in one process to the first line of the task in the worker of `leasehold dev`,
 * which is started as it starts by default. Exits with 1 if the median exceeds its target.
 *
 * Real processes on this machine, so the times depend on its load, which is printed too.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { createLeasehold } from '../shared/client/leasehold.ts';
import { wholeNumber } from './arguments.ts';
import { now, ping } from './dev/tasks.ts';
import { percentile, print, round } from './figures.ts';

const WANTED_MS = 20;
const GAP_MS = { least: 60, most: 140 };
const ROOT = path.resolve(import.meta.dirname, '..');

interface Settings {
  readonly tasks: number;
  readonly json: boolean;
}

export async function run(argv: readonly string[]): Promise<number> {
  const { tasks, json } = new Command('npm run bench -- dev')
    .description('Milliseconds from enqueue in one process to the first line in `leasehold dev`.')
    .option('--tasks <n>', 'how many, a tenth of a second apart', wholeNumber(1), 150)
    .option('--json', 'the figures as one JSON object', false)
    .parse(argv, { from: 'user' })
    .opts<Settings>();
  const times = await measure(tasks);
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((share) => round(percentile(times, share)));
  const load = round(loadavg()[0] ?? NaN);
  print({ tasks, p50, p90, p99, load }, json);
  return (p50 ?? NaN) <= WANTED_MS ? 0 : 1;
}

async function measure(tasks: number): Promise<readonly number[]> {
  const module = path.join(import.meta.dirname, 'dev', 'tasks.ts');
  const args = [path.join(ROOT, 'api', 'command.ts'), 'dev', module, '--port', '0', '--json'];
  const dev = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(dev, 'exit');
  try {
    using leasehold = createLeasehold({ endpoint: await endpointOf(dev.stdout) });
    const one = async (): Promise<number> => {
      const at = now();
      const { id } = await leasehold.tasks.enqueue(ping, null);
      const outcome = await leasehold.tasks.result(id, { wait: '1m' });
      if (outcome.kind !== 'done') throw new Error(`${id} is ${outcome.kind}`);
      return Number(outcome.result) - at;
    };
    await one();
    const times: number[] = [];
    for (let nth = 0; nth < tasks; nth++) {
      await sleep(GAP_MS.least + Math.random() * (GAP_MS.most - GAP_MS.least));
      times.push(await one());
    }
    return times;
  } finally {
    dev.kill('SIGINT');
    await ended;
  }
}

/** As `leasehold dev --json` says it in its first line. */
async function endpointOf(said: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(said)) {
    const { endpoint } = JSON.parse(line) as { readonly endpoint: string };
    return endpoint;
  }
  throw new Error('`leasehold dev` ended before it had started');
}
