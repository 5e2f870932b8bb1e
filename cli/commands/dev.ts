/**
 * `leasehold dev`: everything that tasks need, on this machine: an engine with the table, a worker that follows the code, and the console.
 */
import { existsSync } from 'node:fs';
import nodeModule from 'node:module';
import path from 'node:path';
import { Command } from 'commander';
import { defined } from '../../shared/core/defined.ts';
import { DEFAULT_CONCURRENCY, MAX_CONCURRENCY } from '../../functions/env.ts';
import type { Engine } from '../../local/engine.ts';
import { engineOf, engineOption } from '../../local/engine-option.ts';
import { ENVIRONMENT } from '../../shared/core/environment.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { DEFAULT_TTL_MS } from '../../shared/core/lease/timing.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { DEFAULT_SHARDS } from '../../shared/tasks/task/task.ts';
import { DEFAULT_ENGINE_PORT, portOption, spanOption, wholeNumber } from '../arguments.ts';
import { nameAtTheKeyboard } from '../confirm.ts';
import type { CliConnection } from '../connection.ts';
import type { Bind, Context, Environment } from '../context.ts';
import type { Supervisor } from '../dev/supervisor.ts';
import type { ExitCode } from '../exit.ts';
import { printable } from '../output.ts';
import { queueOption } from '../queue/options.ts';
import type { GlobalOptions } from '../settings.ts';
import { untilInterrupted } from '../until-interrupted.ts';

interface Options {
  readonly queue: string;
  readonly port: number;
  readonly consolePort: number;
  readonly engine: string;
  readonly concurrency: number;
  readonly sessionTtl: number;
}

/** Pause between polls of the console while a page is open: reads cost nothing here. */
const POLL_EVERY_MS = 500;

export function devCommand(bind: Bind): Command {
  const command = new Command('dev')
    .summary('start an engine, a reloading worker and the console')
    .description(
      'Starts a DynamoDB on this machine with the table in it, a worker that runs the tasks of a module and starts again ' +
        'when its code changes or crashes, and the console. All of it ends with Ctrl+C, data included.',
    )
    .argument('<module>', 'the module that defines the tasks')
    .addOption(queueOption())
    .addOption(engineOption('memory, dynamodb-local (needs Java 17), or the URL of one that runs').default('memory'))
    .addOption(portOption(DEFAULT_ENGINE_PORT, '--port', 'port of the engine'))
    .addOption(portOption(0, '--console-port', 'port of the console'))
    .option('--concurrency <n>', 'tasks at once', wholeNumber(1, MAX_CONCURRENCY), DEFAULT_CONCURRENCY)
    .addOption(spanOption('--session-ttl <span>', 'how long a blocked worker lives, as when deployed', DEFAULT_TTL_MS))
    .addHelpText('after', HELP);
  return bind<Options>(command, dev);
}

async function dev(context: Context, options: Options, module = ''): Promise<ExitCode> {
  const entry = path.resolve(module);
  if (!existsSync(entry))
    throw new ConfigurationError(`there is no ${entry}: pass the module that defines the tasks, such as src/tasks.ts`);
  ensureOwnEngine(context, options);
  return await untilInterrupted(async (interrupted) => {
    await using running = await start(context, options, { entry, interrupted });
    const { engine, address, supervisor } = running;
    await supervisor.run(({ tasks, tables }) => {
      const { kind, endpoint } = engine;
      const { table } = context.settings;
      context.output.answer({ engine: kind, endpoint, table, console: address, tasks, tables }, () =>
        [
          `engine   ${kind}${kind === 'endpoint' ? '' : ', empty'}; for other terminals: export ${ENVIRONMENT.endpoint}=${endpoint}`,
          `console  ${address}`,
          ...(engine.warning === undefined ? [] : [`warning  ${engine.warning}`]),
          ...(tables.length === 0 ? [] : [`tables   ${printable(tables.join(', '))}`]),
          `tasks    ${printable(tasks.join(', '))}; read again when the code changes; Ctrl+C ends everything`,
        ].join('\n'),
      );
    });
  });
}

interface Running extends AsyncDisposable {
  readonly engine: Engine;
  /** The console's address, for one browser, or a note that no console runs. */
  readonly address: string;
  readonly supervisor: Supervisor;
}

interface Wanted {
  readonly entry: string;
  readonly interrupted: AbortSignal;
}

/** Stops each part before the parts that it depends on. */
async function start(context: Context, options: Options, { entry, interrupted }: Wanted): Promise<Running> {
  const { settings, runtime, output } = context;
  const stops: (() => Promise<unknown>)[] = [];
  // Last part first. If one fails, the others are still stopped.
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
    const { startEngine, connect, Supervisor } = await loadParts();
    const console = await context.satellites.console?.();
    const engine = await startEngine(engineOf(options.engine, options.port || undefined));
    stops.push(() => engine.stop());
    const { endpoint } = engine;
    const there = { ...settings, endpoint };
    const connection = await connect(there, runtime);
    stops.push(async () => connection[Symbol.dispose]());
    await makeTable(connection);
    const page = await console?.openPage?.(
      {
        table: settings.table,
        endpoint,
        maxClockSkewMs: settings.maxClockSkew,
        shards: DEFAULT_SHARDS,
        queues: [options.queue],
        port: options.consolePort,
        everyMs: POLL_EVERY_MS,
        isReadOnly: false,
        by: nameAtTheKeyboard(),
        onEntered: (next) => output.note(`console  for another browser: ${next}`),
      },
      runtime,
    );
    stops.push(async () => page?.close());
    const { queue, concurrency, sessionTtl: sessionTtlMs } = options;
    const supervisor = new Supervisor(
      {
        context: { ...context, environment: environmentOf(context, queue, endpoint) },
        connection,
        queue: connection.queue(queue, DEFAULT_SHARDS),
      },
      {
        entry,
        settings: settingsOf(there),
        work: { queue, shards: DEFAULT_SHARDS, concurrency, sessionTtlMs, untilDrained: false },
        compiled: compiledFolder(),
      },
      interrupted,
    );
    return { engine, supervisor, address: page?.invite() ?? 'no console installed', [Symbol.asyncDispose]: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** @throws ConfigurationError if the environment leads other programs of this terminal to another engine */
function ensureOwnEngine({ settings: { endpoint } }: Context, { port, engine }: Options): void {
  const chosen = engineOf(engine);
  const own =
    chosen.kind === 'endpoint'
      ? [chosen.endpoint.replace(/\/$/, '')]
      : ['127.0.0.1', 'localhost'].map((host) => `http://${host}:${port}`);
  if (endpoint !== undefined && !own.includes(endpoint.replace(/\/$/, '')))
    throw new ConfigurationError(
      `dev works with the engine at ${own[0] ?? ''}, and --endpoint or ${ENVIRONMENT.endpoint} names ${endpoint}: ` +
        `omit it, or use --engine ${endpoint}`,
    );
}

async function makeTable({ openClient, table }: CliConnection): Promise<void> {
  await createTable(await openClient(), table);
}

/** The environment of the user's task code, as in a deployment. */
function environmentOf({ settings, environment }: Context, queue: string, endpoint: string): Environment {
  return {
    ...environment,
    [ENVIRONMENT.endpoint]: endpoint,
    [ENVIRONMENT.table]: settings.table,
    [ENVIRONMENT.queue]: queue,
    [ENVIRONMENT.maxClockSkew]: String(settings.maxClockSkew),
  };
}

/** Returns the cache folder that this process was configured to use. Node adds its own version's folder to that. */
function compiledFolder(): string | undefined {
  const folder = nodeModule.getCompileCacheDir();
  return folder === undefined ? undefined : path.dirname(folder);
}

/** Without the options that only `dev` has. */
function settingsOf({ table, endpoint, allowHttp, region, json, maxClockSkew }: GlobalOptions): GlobalOptions {
  return defined({ table, maxClockSkew, endpoint, allowHttp, region, json });
}

/** A separate function, because the compiler's rewriting of `using` does not rename imported modules. */
async function loadParts() {
  const { startEngine } = await import('../../local/engine.ts');
  const { connect } = await import('../connection.ts');
  const { Supervisor } = await import('../dev/supervisor.ts');
  return { startEngine, connect, Supervisor };
}

const HELP = `
The worker prints a line for each task that ends, and what your code prints, marked with its task. When code is saved it hands back what
it runs, attempts not counted, and starts again. After a crash it starts again in a second: the task that caused it is tried again, others
are handed back. A task that blocks the event loop is named after five seconds; saving its code ends it.
A list of tables that the module exports as devTables is created too: [{ name: 'reports', partitionKey: 'pk' }].
A list of tasks that it exports as devTasks is enqueued at the start: [spawn(greet, { name: 'Ada' })].

Examples:
  $ leasehold dev src/tasks.ts
  $ LEASEHOLD_ENDPOINT=http://127.0.0.1:8000 leasehold enqueue greet '{"name": "Ada"}'   # in another terminal`;
