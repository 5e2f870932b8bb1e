/** `leasehold enqueue`: one task, or a file of them. */
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { liveText } from '../../local/live-text.ts';
import { ConfigurationError, MismatchError, assert, messageOf } from '../../shared/core/errors.ts';
import type { Enqueued, TaskClient } from '../../shared/tasks/queue/task-client.ts';
import type { BadLine, Line } from '../../shared/tasks/queue/task-file.ts';
import { LINE_FIELDS, checkLines, referenceTo } from '../../shared/tasks/queue/task-file.ts';
import { loadTasks } from '../../shared/tasks/task/load-module.ts';
import type { NewTask } from '../../shared/tasks/task/task-store.ts';
import { announcedIn } from '../../shared/tasks/worker/announced-names.ts';
import { hintFor } from '../../shared/core/validate/options.ts';
import { jsonInput, spanOption } from '../arguments.ts';
import type { CliConnection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { EXIT } from '../exit.ts';
import { plural, printable } from '../output.ts';
import type { QueueOptions } from '../queue/options.ts';
import { queueOption, shardsOption } from '../queue/options.ts';
import type { TaskFlags } from '../queue/task-options.ts';
import { TASK_FLAGS, taskOptionsOf, withTaskFlags } from '../queue/task-options.ts';

interface Options extends QueueOptions, TaskFlags {
  readonly file?: string;
  readonly entry?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly wait?: number;
}

/** Options that a line of a file sets for itself. */
const OF_ONE_TASK = { ...TASK_FLAGS, wait: '--wait' };

/** Maximum bad lines to show on a terminal. Programs get all of them. */
const BAD_LINES_SHOWN = 20;

export function enqueueCommand(bind: Bind): Command {
  const command = withTaskFlags(new Command('enqueue'))
    .summary('add a task, or a file of them')
    .description('Adds tasks. All lines are validated first; if one is invalid, nothing is written.')
    .argument('[name]', "the task's name")
    .argument('[input]', 'its input, as JSON (default: null)')
    .option('--file <path>', "a file of tasks, one JSON object a line; '-' is standard input")
    .option('--entry <module>', 'the module that defines the tasks: names and inputs are checked against it')
    .addOption(queueOption())
    .addOption(shardsOption())
    .addOption(spanOption('--wait <span>', 'wait this long for its end, such as 30s, and print its result'))
    .addOption(new Option('--dry-run', 'check only').conflicts('wait'))
    .option('--force', 'add it although no worker has announced a task of this name')
    .addHelpText('after', HELP);
  return bind<Options>(command, enqueue);
}

async function enqueue(context: Context, options: Options, task?: string, input?: string): Promise<ExitCode> {
  if ((task === undefined) === (options.file === undefined))
    throw new ConfigurationError('pass either the name of a task or --file');
  if (options.file !== undefined) ensureOfFile(options);
  const registry = options.entry === undefined ? undefined : await loadTasks(options.entry);
  const bytes = task === undefined ? await readTasks(context, options.file ?? '-') : undefined;
  using connection = await context.connect();
  const { client } = connection.queue(options.queue, options.shards);
  if (task !== undefined && registry === undefined) await ensureAnnounced(context, options, connection, task);
  if (bytes === undefined) {
    const line = await client.validate(referenceTo(task ?? '', registry), jsonInput(input), taskOptionsOf(options));
    return options.wait === undefined
      ? await addAll(context, options, connection, [{ number: 1, task: line }])
      : await addAndWait(context, client, line, options.wait);
  }
  const { lines, bad } = await checkLines(bytes, client, registry);
  return bad.length > 0 ? reject(context, bad, lines.length) : await addAll(context, options, connection, lines);
}

/**
 * A name that is probably mistyped is refused; a worker that defines it may start later, so `--force` adds it. The library asks nobody.
 * @throws ConfigurationError if workers have announced all of their names, and this one is not among them
 */
async function ensureAnnounced({ output }: Context, options: Options, connection: CliConnection, name: string) {
  const { queue, queues } = connection.queue(options.queue, options.shards);
  // A caller without access to the queue's row may still add tasks, and any other fault appears when the task is added.
  const record = await queues.glance(queue).catch(() => undefined);
  const announced = record && announcedIn(record);
  if (announced === undefined || announced.names.includes(name)) return;
  const { names, isComplete } = announced;
  const told = isComplete
    ? `no worker of queue ${queue} defines a task named ${name}`
    : `workers of queue ${queue} announce ${names.length} of their names, and ${name} is not among these`;
  const hint = hintFor(name, names);
  if (isComplete && options.force !== true)
    throw new ConfigurationError(`${told}${hint || '.'} To add it anyway, pass --force`);
  output.note(printable(`${told}${hint}`));
}

/** @throws ConfigurationError */
function ensureOfFile(options: Options): void {
  const given = Object.entries(OF_ONE_TASK).filter(([option]) => options[option as keyof Options] !== undefined);
  if (given.length > 0)
    throw new ConfigurationError(
      `${given.map(([, flag]) => flag).join(', ')} cannot be used with --file: each line of the file has the options of its task`,
    );
}

async function readTasks({ stdin }: Context, file: string): Promise<Buffer> {
  if (file === '-') return buffer(stdin);
  return readFile(file).catch((cause: unknown) => {
    throw new ConfigurationError(`the file of tasks cannot be read (${messageOf(cause)}): check its path`, {
      cause,
    });
  });
}

function reject({ output }: Context, bad: readonly BadLine[], good: number): ExitCode {
  for (const { line, error } of bad.slice(0, BAD_LINES_SHOWN)) output.note(`line ${line}: ${printable(error)}`);
  if (bad.length > BAD_LINES_SHOWN) output.note(`and ${plural(bad.length - BAD_LINES_SHOWN, 'more bad line')}`);
  output.answer(
    { added: 0, bad },
    () => `${plural(bad.length, 'bad line')}, ${plural(good, 'good one')}: nothing was added`,
  );
  return EXIT.failed;
}

async function addAll(
  context: Context,
  options: Options,
  connection: CliConnection,
  lines: readonly Line[],
): Promise<ExitCode> {
  const { output } = context;
  if (options.dryRun === true) {
    output.answer({ added: 0, checked: lines.length }, () => `${plural(lines.length, 'task')} checked, none added`);
    return EXIT.done;
  }
  const progress = progressOf(context, lines.length);
  const { client } = connection.queue(options.queue, options.shards);
  const results = await client
    .enqueueAll(
      lines.map(({ task }) => task),
      { onProgress: progress.show },
    )
    .finally(progress.end);
  // A task named on the command line has no line number.
  if (options.file === undefined && results[0] instanceof MismatchError) throw results[0];
  const conflicts = results.flatMap((result, at) =>
    result instanceof MismatchError ? [{ line: lines[at]?.number ?? 0, error: result.message }] : [],
  );
  const enqueued = results.filter((result): result is Enqueued => !(result instanceof MismatchError));
  const added = enqueued.filter(({ created }) => created).length;
  const replaced = enqueued.filter((task) => task.replaced).length;
  const kept = enqueued.length - added - replaced;
  for (const { line, error } of conflicts.slice(0, BAD_LINES_SHOWN)) output.note(`line ${line}: ${printable(error)}`);
  const only = enqueued.length === 1 && lines.length === 1 ? enqueued[0] : undefined;
  output.answer({ added, replaced, kept, conflicts, ...(only && { id: only.id }) }, () => {
    if (only !== undefined)
      return `${only.created ? 'added' : only.replaced ? 'replaced' : 'already exists:'} ${printable(only.id)}`;
    return `${added} added, ${kept} existed already, ${replaced} replaced, ${conflicts.length} refused`;
  });
  return conflicts.length > 0 ? EXIT.refused : EXIT.done;
}

/** Adds one task and prints how it ended: with standard output for its result alone, so that a script can read it. */
async function addAndWait({ output }: Context, client: TaskClient, task: NewTask, wait: number): Promise<ExitCode> {
  const [enqueued] = await client.enqueueAll([task]);
  if (enqueued instanceof MismatchError) throw enqueued;
  assert(enqueued !== undefined, 'a task was neither added nor refused');
  const { id, queue } = enqueued;
  output.note(`${enqueued.created ? 'added' : enqueued.replaced ? 'replaced' : 'already exists:'} ${printable(id)}`);
  const outcome = await client.result(id, { wait, queue });
  const { kind } = outcome;
  const said = { id, outcome: kind, state: outcome.task.state };
  switch (kind) {
    case 'done':
      output.answer({ ...said, result: outcome.result ?? null }, () =>
        printable(JSON.stringify(outcome.result ?? null)),
      );
      return EXIT.done;
    case 'dead':
      output.answer(
        { ...said, error: outcome.error },
        () => `dead: ${printable(outcome.error?.message ?? 'no error was recorded')}`,
      );
      return EXIT.failed;
    case 'cancelled':
      output.answer(
        { ...said, reason: outcome.reason },
        () => `cancelled: ${printable(outcome.reason ?? 'no reason given')}`,
      );
      return EXIT.failed;
    case 'deadline':
      output.answer(said, () => timedOutText(wait, outcome.task.state));
      return EXIT.failed;
  }
}

function timedOutText(waitMs: number, state: string): string {
  const now = state === 'running' ? 'still running' : `still waiting (${state})`;
  return `Timed out after ${waitMs / 1_000} s; the task is ${now}.`;
}

/** A line that is overwritten if standard error is a terminal. */
function progressOf(
  { output }: Context,
  total: number,
): { readonly show: (done: number) => void; readonly end: () => void } {
  if (!output.err.isTTY || output.isJson || total < 100) return { show: () => undefined, end: () => undefined };
  const live = liveText(output.err);
  return {
    show: (done) => live.show(`${done.toLocaleString('en-US')} of ${plural(total, 'task')}`),
    end: () => live.clear(),
  };
}

const HELP = `
A line of a file: {"name": "resize", "input": {"key": "a.png"}, "id": "a.png", "priority": "high", "delay": "2027-01-31T08:00:00Z"}
Only the name is needed. Fields: ${LINE_FIELDS.join(', ')}.
Safe to re-run if every line has an id; lines without an id are added again.

Exit codes: 1 there are bad lines, and nothing was added, or with --wait: the task is dead, cancelled, or not done by then;
5 some ids stand for other work already, and all others were added.

Examples:
  $ leasehold enqueue resize '{"key": "a.png"}' --id a.png
  $ leasehold enqueue resize '{"key": "a.png"}' --wait 30s
  $ leasehold enqueue charge '{"order": 7}' --key customer-3 --limit 1
  $ leasehold enqueue report --delay 2027-01-31T08:00:00Z --priority low
  $ leasehold enqueue --file work.jsonl --entry src/tasks.ts --dry-run
  $ jq -c '.[] | {name: "resize", id: .key, input: .}' list.json | leasehold enqueue --file -`;
