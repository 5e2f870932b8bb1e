/** `leasehold tasks`: lists tasks; `task-acts.ts` acts on them, and `task-run.ts` runs one here. */
import { Command, Option } from 'commander';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { When } from '../../shared/core/validate/moment.ts';
import { ENDED_STATES, doesNotList } from '../../shared/tasks/queue/ended-tasks.ts';
import { name, when, wholeNumber } from '../arguments.ts';
import type { CliConnection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list } from '../listing.ts';
import type { Output } from '../output.ts';
import { printable, queueFlag, relative, shortened, span } from '../output.ts';
import { unfinishedTasks } from '../queue/queue-summary.ts';
import { listEnded, noteNoList } from '../queue/ended-list.ts';
import { ListingProgress, upTo } from '../queue/listing-progress.ts';
import { scannedTasks } from '../queue/scanned-tasks.ts';
import { dueText, stateOf, stateText } from '../queue/task-words.ts';
import type { QueueOptions } from '../queue/options.ts';
import { queueOption, shardsOption } from '../queue/options.ts';
import { taskActs } from './task-acts.ts';
import { taskRunCommand } from './task-run.ts';
import { tasksFindCommand } from './tasks-find.ts';
import { tasksShowCommand } from './tasks-show.ts';
import { tasksTailCommand } from './tasks-tail.ts';

/** The last two are not indexed, so the table itself is scanned. */
const STATES = ['unfinished', 'ready', 'delayed', 'suspended', 'running', 'dead', 'done', 'cancelled'] as const;
/** Index: some 4,000 tasks, in two seconds. Table: a quarter of a GB, for about a cent, as a limit of an accidental scan. */
const DEFAULT_MAX_READ_UNITS = { index: 2_000, table: 32_768 };

interface ListOptions extends QueueOptions, LimitOptions {
  readonly state: (typeof STATES)[number];
  readonly name?: string;
  readonly since?: When;
  readonly until?: When;
  readonly failed?: boolean;
  readonly maxReadUnits?: number;
}

export function tasksCommand(bind: Bind): Command {
  const tasks = new Command('tasks')
    .summary('inspect and manage tasks')
    .description('Lists, shows, follows, runs, retries and cancels tasks.');
  const listing = new Command('list')
    .description(
      'Lists waiting, running and dead tasks, from high priority to low. Done and cancelled tasks are kept for 14 days, and listed by ' +
        '--state: newest first if the queue lists finished tasks (leasehold work --list-finished). Otherwise this scans the table, ' +
        'in no order, and needs dynamodb:Scan, which the CDK grants do not include.',
    )
    .addOption(new Option('--state <state>', 'only these').choices(STATES).default('unfinished'))
    .option('--name <name>', 'only those of this definition', name)
    .option('--since <when>', 'ended after: a span before now such as 1h, or a time; of a queue that lists', when)
    .option('--until <when>', 'ended before, as --since', when)
    .option('--failed', 'ended tasks that died, or ended after a failed attempt; of a queue that lists')
    .addOption(
      new Option(
        '--max-read-units <n>',
        `maximum number of read units (default: ${DEFAULT_MAX_READ_UNITS.index}, and ${DEFAULT_MAX_READ_UNITS.table} for done and cancelled ones)`,
      ).argParser(wholeNumber(1)),
    )
    .addOption(limitOption());
  tasks.addCommand(withQueue(bind<ListOptions>(listing, listTasks)), { isDefault: true });
  tasks.addCommand(withQueue(tasksShowCommand(bind)));
  for (const command of taskActs(bind)) tasks.addCommand(withQueue(command));
  tasks.addCommand(withQueue(taskRunCommand(bind)));
  tasks.addCommand(withQueue(tasksTailCommand(bind)));
  tasks.addCommand(withQueue(tasksFindCommand(bind)));
  return tasks.addHelpText('after', HELP);
}

function withQueue(command: Command): Command {
  return command.addOption(queueOption()).addOption(shardsOption());
}

async function listTasks({ output, connect, runtime }: Context, options: ListOptions): Promise<void> {
  using connection = await connect();
  const now = runtime.clock.now();
  const isOver = options.state === 'done' || options.state === 'cancelled';
  const hasRange = options.since !== undefined || options.until !== undefined || options.failed === true;
  if (hasRange && !isOver && options.state !== 'dead' && options.failed !== true)
    throw new ConfigurationError(
      '--since and --until are for ended tasks: add --state done, dead or cancelled, or --failed',
    );
  if (isOver || hasRange) {
    const states = isOver || options.state === 'dead' ? [options.state] : ENDED_STATES;
    const there = connection.queue(options.queue, options.shards);
    if (await listEnded(there, { ...options, states }, output, now)) return;
    if (hasRange) throw new ConfigurationError(doesNotList(options.queue));
    if (isOver) noteNoList(options.queue, output);
  }
  const progress = new ListingProgress(runtime.clock, output);
  const rows = matching(tasksOf(connection, options, output), { options, now, progress });
  await list(
    rows,
    options,
    {
      id: ({ id }) => shortened(id, 48),
      task: (task) => shortened(task.name, 24),
      state: (task) => stateText(task, now),
      label: ({ label }) => (label === undefined ? '' : shortened(label, 32)),
      tenant: ({ tenant }) => (tenant === undefined ? '' : shortened(tenant, 24)),
      priority: ({ priority }) => priority,
      attempts: ({ attempts }) => String(attempts),
      ...(isOver
        ? {
            finished: (task) => ('finishedAt' in task ? relative(task.finishedAt, now) : ''),
            took: (task) => ('finishedAt' in task ? span(task.finishedAt - task.createdAt) : ''),
          }
        : { due: (task) => dueText(task, now) }),
      'last error': ({ lastError }) =>
        lastError === undefined ? '' : shortened(`${lastError.name}: ${lastError.message}`, 60),
    },
    output,
    `no tasks (${options.state}) in queue ${options.queue}`,
    `leasehold tasks show ID${printable(queueFlag(options.queue))} shows one in full`,
  );
}

function tasksOf(connection: CliConnection, options: ListOptions, output: Output): AsyncIterable<TaskRecord> {
  const { queue, shards, state } = options;
  if (state === 'done' || state === 'cancelled') {
    const { maxReadUnits = DEFAULT_MAX_READ_UNITS.table } = options;
    const onCut = (units: number): void =>
      output.note(`stopped after ${units} read units, before the end of the table (see --max-read-units)`);
    const onDamaged = (error: unknown): void => output.note(printable(`row skipped: ${String(error)}`));
    return scannedTasks(connection, { queue, where: { state }, maxReadUnits }, { onCut, onDamaged });
  }
  const there = connection.queue(queue, shards);
  const tasks: AsyncIterable<TaskRecord> = state === 'dead' ? there.operator.dead() : unfinishedTasks(there);
  const { maxReadUnits = DEFAULT_MAX_READ_UNITS.index } = options;
  return upTo(maxReadUnits, connection.readUnits, tasks, (units, { id, priority }) =>
    output.note(
      printable(
        `stopped after ${units} read units, at ${id} of priority ${priority}: there are more (see --max-read-units)`,
      ),
    ),
  );
}

async function* matching(
  tasks: AsyncIterable<TaskRecord>,
  { options: { state, name: wanted }, now, progress }: Wanted,
): AsyncGenerator<TaskRecord> {
  for await (const task of tasks) {
    const isWanted =
      (wanted === undefined || task.name === wanted) && (state === 'unfinished' || state === stateOf(task, now));
    progress.note(task, isWanted);
    if (isWanted) yield task;
  }
}

interface Wanted {
  readonly options: ListOptions;
  readonly now: number;
  readonly progress: ListingProgress;
}

const HELP = `
Examples:
  $ leasehold tasks list --state dead --name resize
  $ leasehold tasks list --state done --name resize --since 1h
  $ leasehold tasks find o-7
  $ leasehold tasks show a.png --queue media
  $ leasehold tasks retry a.png
  $ leasehold tasks retry --all --limit 100 --yes default
  $ leasehold tasks cancel a.png --reason 'no longer wanted' --yes a.png
  $ leasehold tasks run a.png --entry src/tasks.ts`;
