/**
 * A queue of an example's own on the store of all examples, and workers of a queue:
 * processes, each started as `npx leasehold work` starts one.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Leasehold, LeaseholdOptions } from 'leasehold';
import { createLeasehold } from 'leasehold';
import { inSlices } from './in-slices.ts';
import { localSettings, openLeasehold } from './store.ts';
import { TABLE } from './table.ts';

export interface ExampleQueue extends AsyncDisposable {
  readonly name: string;
  readonly leasehold: Leasehold;
  /** Where a command finds it. */
  readonly place: readonly string[];
  /** Starts workers of a task module; they run until they are stopped. */
  start(tasks: URL, options?: WorkerOptions): readonly ExampleWorker[];
  /** Waits until each of these tasks has ended, whichever worker runs them. */
  ended(ids: readonly string[]): Promise<void>;
  /** Starts workers, waits until each of these tasks has ended, and stops them. @returns what the code of the tasks has printed */
  finish(tasks: URL, ids: readonly string[], options?: WorkerOptions): Promise<readonly string[]>;
}

export interface WorkerOptions {
  readonly workers?: number;
  readonly concurrency?: number;
  /** How long after its last sign of life a worker's tasks are taken over. */
  readonly ttl?: string;
  /** Whether the queue lists its finished tasks. */
  readonly listFinished?: boolean;
}

export interface ExampleWorker {
  /** The output of the tasks' code. */
  readonly lines: readonly string[];
  /** The tasks' own reports: `done <id> …`, one for each. */
  readonly notes: readonly string[];
  kill(): void;
  /** It hands back what it runs, and ends. */
  stop(): Promise<void>;
}

const PATIENCE_MS = 300_000;
const LOOK_EVERY_MS = 100;
const COMMAND = fileURLToPath(new URL('../api/command.ts', import.meta.url));

export async function openQueue(
  name: string,
  endpoint: string | undefined,
  options: Pick<LeaseholdOptions, 'payloads' | 'observer'> = {},
): Promise<ExampleQueue> {
  // Before loading task modules that create their own clients.
  const settings = await localSettings(endpoint);
  Object.assign(process.env, settings);
  using creator = await openLeasehold(endpoint);
  const { table } = creator;
  // Runs on the same store do not meet.
  const queue = `${name}-${randomUUID()}`;
  const leasehold = createLeasehold({ table, queue, ...options });
  const workers: ExampleWorker[] = [];

  const start: ExampleQueue['start'] = (tasks, workerOptions) => {
    const started = startWorkers(queue, tasks, workerOptions);
    workers.push(...started);
    return started;
  };

  const ended: ExampleQueue['ended'] = async (ids) => {
    const deadline = performance.now() + PATIENCE_MS;
    let left = ids;
    for (;;) {
      const tasks = await inSlices(left, (id) => leasehold.tasks.get(id));
      left = left.filter((_, at) => tasks[at] === undefined || ['ready', 'running'].includes(tasks[at].state));
      if (left.length === 0) return;
      if (performance.now() > deadline) throw new Error(`${left.length} tasks have not ended, ${left[0]} is one`);
      await sleep(LOOK_EVERY_MS);
    }
  };

  return {
    name: queue,
    leasehold,
    place: ['--endpoint', settings.AWS_ENDPOINT_URL_DYNAMODB, '--table', table, '--queue', queue],
    start,
    ended,
    async finish(tasks, ids, workerOptions) {
      const started = start(tasks, workerOptions);
      await ended(ids);
      await Promise.all(started.map((worker) => worker.stop()));
      return started.flatMap(({ lines }) => lines);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map((worker) => worker.stop()));
      leasehold.close();
    },
  };
}

/** @returns the output of the command */
export async function ask(words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [COMMAND, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  return await text(child.stdout);
}

/** Workers of any queue, as much as is needed to stop them. */
export function startWorkers(
  queue: string,
  tasks: URL,
  { workers = 1, concurrency = 5, ttl = '5s', listFinished = false }: WorkerOptions = {},
): readonly ExampleWorker[] {
  const words = ['work', '--entry', fileURLToPath(tasks), '--table', TABLE, '--queue', queue];
  const settings = [
    '--concurrency',
    String(concurrency),
    '--session-ttl',
    ttl,
    ...(listFinished ? ['--list-finished'] : []),
  ];
  return Array.from({ length: workers }, () => workerOf([...words, ...settings]));
}

function workerOf(words: readonly string[]): ExampleWorker {
  const child = spawn(process.execPath, [COMMAND, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'close');
  const lines: string[] = [];
  const notes: string[] = [];
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line);
  });
  createInterface(child.stderr).on('line', (line) => {
    notes.push(line);
    if (!/^(done|retried|dead|released|snoozed|cancelled) /.test(line)) console.error(line);
  });
  return {
    lines,
    notes,
    kill() {
      child.kill('SIGKILL');
    },
    async stop() {
      if (isRunning(child)) child.kill('SIGINT');
      await exited;
    },
  };
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}
