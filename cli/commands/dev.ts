/**
 * `leasehold dev`: everything that tasks need, on this machine: an engine with the table, a worker that follows the code, and the console.
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { Command, Option } from 'commander';
import { DEFAULT_CONCURRENCY, MAX_CONCURRENCY } from '../../functions/env.ts';
import type { EngineKind } from '../../local/engine.ts';
import { leash } from '../../local/leash.ts';
import { ENVIRONMENT } from '../../shared/core/environment.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { loadTasks } from '../../shared/tasks/task/module.ts';
import { DEFAULT_SHARDS } from '../../shared/tasks/task/task.ts';
import { portOption, wholeNumber } from '../arguments.ts';
import { nameAtTheKeyboard } from '../confirm.ts';
import type { Connection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { printable } from '../output.ts';
import { queueOption } from '../queue/options.ts';
import { untilAborted, untilInterrupted } from '../until-interrupted.ts';

interface Options {
  readonly queue: string;
  readonly port: number;
  readonly consolePort: number;
  readonly engine?: Extract<EngineKind, 'embedded' | 'memory'>;
  readonly concurrency: number;
}

/** As DynamoDB Local and its like, so that another terminal knows where to look. */
const DEFAULT_PORT = 8_000;
/** Between looks of the console, while a page is open: reads cost nothing here. */
const LOOK_EVERY_MS = 500;

export function devCommand(bind: Bind): Command {
  const command = new Command('dev')
    .summary('an engine, a worker and the console, here, while you write tasks')
    .description(
      'Starts a DynamoDB on this machine with the table in it, a worker that runs the tasks of a module and starts again ' +
        'when its code changes, and the console. All of it ends with Ctrl+C, data included.',
    )
    .argument('<module>', 'the module that defines the tasks')
    .addOption(queueOption())
    .addOption(portOption(DEFAULT_PORT))
    .addOption(portOption(0, '--console-port', 'where the console listens'))
    .addOption(
      new Option('--engine <kind>', 'which DynamoDB (default: embedded where it is installed, else memory)').choices([
        'embedded',
        'memory',
      ]),
    )
    .option('--concurrency <n>', 'tasks at once', wholeNumber(1, MAX_CONCURRENCY), DEFAULT_CONCURRENCY)
    .addHelpText('after', HELP);
  return bind<Options>(command, dev);
}

async function dev(context: Context, options: Options, module = ''): Promise<ExitCode> {
  ensureOwnEngine(context, options);
  const entry = path.resolve(module);
  // A module that cannot be loaded or defines no task is said before anything is started.
  const tasks = [...(await loadTasks(entry)).keys()];
  return await untilInterrupted(async (interrupted) => {
    await using running = await start(context, options, entry);
    const { endpoint, kind, address, worker } = running;
    context.output.answer({ engine: kind, endpoint, table: context.settings.table, console: address, tasks }, () =>
      [
        `engine   ${kind}, empty; for other terminals: export ${ENVIRONMENT.endpoint}=${endpoint}`,
        `console  ${address}`,
        `tasks    ${printable(tasks.join(', '))}; read again when the code changes; Ctrl+C ends everything`,
      ].join('\n'),
    );
    await Promise.race([untilAborted(interrupted), worker.ended]);
    if (!interrupted.aborted) throw new ConfigurationError('the process that watches the worker ended: see above');
  });
}

interface Running extends AsyncDisposable {
  readonly kind: EngineKind;
  readonly endpoint: string;
  /** The console's, for one browser. */
  readonly address: string;
  readonly worker: Worker;
}

/** What depends on something is stopped before it. */
async function start(context: Context, options: Options, entry: string): Promise<Running> {
  const { settings, runtime, output } = context;
  const stops: (() => Promise<unknown>)[] = [];
  // The last first, and the others also when one of them fails.
  const stopAll = async (): Promise<void> => {
    const stop = stops.pop();
    if (stop === undefined) return;
    try {
      await stop();
    } finally {
      await stopAll();
    }
  };
  try {
    const { defaultEngine, startEngine, startConsole, connect } = await loadParts();
    const engine = await startEngine({ kind: options.engine ?? defaultEngine(), port: options.port || undefined });
    stops.push(() => engine.stop());
    const { kind, endpoint } = engine;
    await makeTable(await connect({ ...settings, endpoint }, runtime));
    const shown = await startConsole(
      {
        table: settings.table,
        endpoint,
        maxClockSkewMs: settings.maxClockSkew,
        shards: DEFAULT_SHARDS,
        queues: [options.queue],
        port: options.consolePort,
        everyMs: LOOK_EVERY_MS,
        isReadOnly: false,
        by: nameAtTheKeyboard(),
        onEntered: (next) => output.note(`console  for another browser: ${next}`),
      },
      runtime,
    );
    stops.push(() => shown.close());
    const worker = startWorker(context, options, { entry, endpoint });
    stops.push(() => worker.stop());
    return { kind, endpoint, worker, address: shown.invite(), [Symbol.asyncDispose]: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** @throws ConfigurationError where the environment leads other programs of this terminal elsewhere */
function ensureOwnEngine({ settings: { endpoint } }: Context, { port }: Options): void {
  const own = ['127.0.0.1', 'localhost'].map((host) => `http://${host}:${port}`);
  if (endpoint !== undefined && !own.includes(endpoint.replace(/\/$/, '')))
    throw new ConfigurationError(
      `dev starts an engine of its own at ${own[0] ?? ''}, and --endpoint or ${ENVIRONMENT.endpoint} names ${endpoint}: ` +
        'leave it out; for an engine that runs already there are up, work and console',
    );
}

async function makeTable(connected: Connection): Promise<void> {
  using connection = connected;
  await createTable(await connection.openClient(), connection.table);
}

/** Apart from `using`: where the compiler rewrites that, it leaves the names of imported modules as they are. */
async function loadParts() {
  const { defaultEngine, startEngine } = await import('../../local/engine.ts');
  const { startConsole } = await import('../../console/server.ts');
  const { connect } = await import('../connection.ts');
  return { defaultEngine, startEngine, startConsole, connect };
}

interface Worker {
  /** Resolves with its end, whatever it is. */
  readonly ended: Promise<void>;
  /** Has its tasks handed back first. */
  stop(): Promise<void>;
}

/**
 * `leasehold work` under Node's own watch mode, which starts it again when a module that it has loaded changes.
 * A process group of its own: Ctrl+C reaches this process alone, and each worker is told once, for a second signal would kill it.
 */
function startWorker(
  { settings, output, environment }: Context,
  { queue, concurrency }: Options,
  { entry, endpoint }: { readonly entry: string; readonly endpoint: string },
): Worker {
  const isPosix = process.platform !== 'win32';
  const child = spawn(
    process.execPath,
    [
      ...['--watch', '--watch-preserve-output', PROGRAM, 'work', '--entry', entry],
      ...['--queue', queue, '--concurrency', String(concurrency)],
    ],
    {
      env: {
        ...environment,
        [ENVIRONMENT.endpoint]: endpoint,
        [ENVIRONMENT.table]: settings.table,
        [ENVIRONMENT.queue]: queue,
        [ENVIRONMENT.maxClockSkew]: String(settings.maxClockSkew),
      },
      // With --json, standard output is the answer's alone.
      stdio: ['ignore', output.isJson ? 2 : 'inherit', 'inherit'],
      detached: isPosix,
    },
  );
  if (isPosix) leash(child);
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
  return {
    ended,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The command's own entry: a source file here, a compiled one in the package. */
const PROGRAM = path.resolve(import.meta.dirname, `../main${path.extname(import.meta.filename)}`);

const HELP = `
The worker prints a line for each task that ends, and what your code prints. It hears of tasks from the engine, and stops in order
before it starts again: what it runs is handed back, its attempts not counted.

Examples:
  $ leasehold dev src/tasks.ts
  $ LEASEHOLD_ENDPOINT=http://127.0.0.1:8000 leasehold enqueue greet '{"name": "Ada"}'   # in another terminal`;
