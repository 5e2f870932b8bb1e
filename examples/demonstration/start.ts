/** `npm start`: the whole story on this machine. See `--help`. */
import path from 'node:path';
import Table from 'cli-table3';
import { Command } from 'commander';
import { MAX_CONCURRENCY } from '../../functions/env.ts';
import { ConfigurationError, StoreUnavailableError } from '../../shared/core/errors.ts';
import type { Duration } from '../../shared/core/validate/duration.ts';
import { durationMs } from '../../shared/core/validate/duration.ts';
import { createDisplay } from './display.ts';
import { demonstrate } from './demonstration.ts';
import type { Verdict } from './verdict.ts';
import { isKept } from './verdict.ts';
import { checked, wholeNumber } from '../../local/arguments.ts';
import { defaultEngine } from '../../local/engine.ts';
import { engineOf, engineOption } from '../../local/engine-option.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Each is a process of this machine. */
const MAX_WORKERS = 64;

interface Flags {
  readonly tasks?: string;
  readonly entry: string;
  readonly queue: string;
  readonly workers: number;
  readonly concurrency: number;
  readonly sessionTtl: number;
  readonly timeout: number;
  readonly kill: boolean;
  readonly duplicateTicks: boolean;
  readonly console: boolean;
  readonly stay: boolean;
  readonly json: boolean;
  readonly engine: string;
}

const command = new Command('npm start --')
  .description(
    'Runs every task of a queue on mutually exclusive workers, on this machine: engine, schedule, dispatcher and workers are all real.',
  )
  .option('--tasks <file>', 'a file of tasks, one JSON object a line, instead of the inventory of node_modules')
  .option('--entry <module>', 'the module that defines the tasks', 'examples/demonstration/inventory/tasks.ts')
  .option('--queue <name>', 'the queue', 'default')
  .option('--workers <n>', 'workers at one time', wholeNumber(1, MAX_WORKERS), 4)
  .option('--concurrency <n>', 'tasks at one time in each worker', wholeNumber(1, MAX_CONCURRENCY), 4)
  .option('--session-ttl <span>', "TTL of a worker's session", span('--session-ttl'), 3_000)
  .option('--timeout <span>', 'after how long a worker invocation is killed, as Lambda does', span('--timeout'), 60_000)
  .option('--no-kill', 'do not kill a worker in the middle of its tasks')
  .option('--duplicate-ticks', 'deliver half of the ticks twice', false)
  .option('--no-console', 'do not serve the page that shows it live')
  .option('--stay', 'keep engine, workers and console open when the tasks are done, until Ctrl+C', false)
  .option('--json', 'print one JSON object as the last line', false)
  .addOption(engineOption().default(defaultEngine(), 'embedded if it is installed, else memory'))
  .addHelpText('after', () => HELP)
  .showHelpAfterError("('npm start -- --help' lists what can be changed)")
  // A request for help is not a mistake; every other exit of commander is.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));

async function main(options: Flags): Promise<number> {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const display = createDisplay(options.json ? process.stderr : process.stdout);
  const told = { wasInterrupted: false };
  const tell = (verdict: Verdict): void => {
    told.wasInterrupted = stop.signal.aborted;
    if (options.json) console.log(JSON.stringify(verdict));
    else console.log(summary(verdict));
  };
  try {
    if (options.tasks === undefined && command.getOptionValueSource('entry') === 'cli')
      throw new ConfigurationError('--entry names the module that defines the tasks of a file: pass --tasks as well');
    const verdict = await demonstrate(
      {
        ...options,
        engine: engineOf(options.engine),
        root: ROOT,
        tasksFile: options.tasks,
        tasksEntry: path.resolve(options.entry),
        sessionTtlMs: options.sessionTtl,
        timeoutMs: options.timeout,
      },
      display,
      stop.signal,
      tell,
    );
    if (told.wasInterrupted) return 130;
    if (options.kill && options.tasks === undefined && verdict.takenOver.length === 0) {
      console.error('error: no task was taken over, so this run has shown nothing of a crash; run it again');
      return 1;
    }
    return isKept(verdict) && verdict.rejected === 0 ? 0 : 1;
  } catch (error) {
    display.end();
    if (!(error instanceof ConfigurationError || error instanceof StoreUnavailableError)) throw error;
    console.error(`error: ${error.message}`);
    return 2;
  }
}

function summary(verdict: Verdict): string {
  const table = new Table({ style: { head: [], border: [] } });
  const { perWorker, takenOver, ...figures } = verdict;
  for (const [name, value] of Object.entries(figures))
    if (value !== null) table.push([LABELS[name as keyof typeof LABELS], String(value)]);
  for (const [worker, settled] of Object.entries(perWorker)) table.push([`settled by ${worker}`, String(settled)]);
  const promise = isKept(verdict)
    ? 'Every task ended exactly once; nothing lost, nothing committed twice.'
    : 'THE PROMISE WAS BROKEN: see above.';
  const rest = verdict.rejected === 0 ? [] : ['Lines of the input were rejected: see above.'];
  const names = takenOver.length === 0 ? [] : [`Taken over from the killed worker: ${takenOver.join(', ')}.`];
  const units = verdict.doubleCommits === null ? [] : [UNITS];
  return [table.toString(), ...units, ...names, promise, ...rest].join('\n');
}

/** Why it is not the 5 of a plain task. */
const UNITS =
  'Of the write units, 8 are those of a task that commits a row of its own: enqueue 2, claim 1, commit 5. ' +
  'The rest is sessions, heartbeats, ticks and repeated attempts, which few tasks share here.';

const LABELS: Readonly<Record<Exclude<keyof Verdict, 'perWorker' | 'takenOver'>, string>> = {
  tasks: 'tasks',
  done: 'done',
  dead: 'dead',
  lost: 'lost',
  takeovers: 'taken over from a dead worker',
  doubleCommits: 'effects committed twice',
  missingCommits: 'done without its effect',
  claimsRefused: 'claims refused',
  duplicateTicks: 'ticks delivered twice',
  writeUnitsPerTask: 'write units per task',
  readUnitsPerTask: 'read units per task',
  seconds: 'seconds',
  takeoverSeconds: 'seconds from the kill to the last takeover',
  rejected: 'input lines rejected',
};

function span(option: string): (text: string) => number {
  return (text) => checked(() => durationMs(option, text as Duration));
}

const HELP = `
Examples:
  npm start                                   count the files of each installed package; one worker is killed on the way
  npm start -- --workers 8 --no-kill          more workers, and no accident
  npm start -- --stay                         the console stays open until Ctrl+C
  npm start -- --json --duplicate-ticks       for programs; half of the ticks come twice
  npm start -- --tasks work.jsonl --entry src/tasks.ts
  npm start -- --engine memory                the table of the test kit, for machines without the embedded engine
  npm start -- --engine dynamodb-local        AWS's own emulator (needs Java 17)

Exit codes: 0 the promise was kept, 1 it was broken or input was rejected, 2 a setting or the engine is wrong, 130 interrupted.`;

process.exitCode = await main(command.parse().opts<Flags>());
