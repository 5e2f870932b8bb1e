/** `leasehold tasks`: lists tasks; `task-acts.ts` acts on them, and `task-run.ts` runs one here. */
import { Command, Option } from 'commander';
import type { SessionRecord } from '../../shared/session/session-record.ts';
import type { FailureRecord } from '../../shared/tasks/task/task-store.ts';
import type { PastAttempt, Occurrence, TaskPolicy, TaskRecord } from '../../shared/tasks/task/task.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { When } from '../../shared/core/validate/moment.ts';
import { ENDED_STATES, doesNotList } from '../../shared/tasks/queue/ended-tasks.ts';
import { name, when, wholeNumber } from '../arguments.ts';
import type { CliConnection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import { taskNotFound } from '../exit.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list, tableText } from '../listing.ts';
import type { Output } from '../output.ts';
import { factsOf, moment, momentAndAge, plural, printable, relative, shortened, span } from '../output.ts';
import { unfinishedTasks } from '../queue/queue-summary.ts';
import { listEnded, noteNoList } from '../queue/ended-list.ts';
import { ListingProgress, upTo } from '../queue/listing-progress.ts';
import { scannedTasks } from '../queue/scanned-tasks.ts';
import { dueText, holderText, stateOf, stateText } from '../queue/task-words.ts';
import { waitsForKey } from '../queue/waits-for-key.ts';
import type { QueueOptions } from '../queue/options.ts';
import { queueOption, shardsOption } from '../queue/options.ts';
import type { Awaited } from '../queue/durable-history.ts';
import { awaitedBy, awaitedText, durableHistory, durableText } from '../queue/durable-history.ts';
import { taskActs } from './task-acts.ts';
import { taskRunCommand } from './task-run.ts';
import { tasksFindCommand } from './tasks-find.ts';
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
  const show = new Command('show').argument('<id>', 'its id', name).description('Shows one task and its history.');
  tasks.addCommand(withQueue(bind<ListOptions>(listing, listTasks)), { isDefault: true });
  tasks.addCommand(withQueue(bind<QueueOptions>(show, showTask)));
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

async function showTask(
  { output, connect, runtime }: Context,
  { queue, shards }: QueueOptions,
  id: string,
): Promise<void> {
  using connection = await connect();
  const { store } = connection.queue(queue, shards);
  const task = await store.get({ queue, id });
  if (task === undefined) throw taskNotFound({ queue, id });
  const failure = task.lastError === undefined ? undefined : await store.getFailure(task);
  const now = runtime.clock.now();
  const { journal, ...known } = task;
  const history = journal && (await durableHistory(store, task));
  const sessions = await sessionsOf(connection, task);
  const holder = task.state === 'running' ? holderOf(connection, task.session, sessions, now) : undefined;
  const codes = new Map([...sessions].flatMap(([at, { codeVersion }]) => (codeVersion ? [[at, codeVersion]] : [])));
  const awaited = awaitedBy(task, history ?? []);
  const answer = journal === undefined ? known : { ...known, waitsFor: awaited, history };
  const text = () => [taskText(task, { failure, holder, codes, awaited }, now), history && durableText(history, now)];
  output.answer({ ...answer, failure, codeVersions: Object.fromEntries(codes) }, () =>
    text().filter(Boolean).join('\n\n'),
  );
}

/** The sessions of the task's attempts, as far as they are kept. */
function sessionsOf({ sessions }: CliConnection, { session, past }: TaskRecord): Promise<Sessions> {
  const ids = new Set([session, ...past.map((attempt) => attempt.session)]);
  // A damaged row is as good as none: `sessions show` names the damage.
  return sessions.getMany(
    [...ids].filter((id) => id !== undefined),
    () => undefined,
  );
}

type Sessions = ReadonlyMap<string, SessionRecord>;

function holderOf({ maxClockSkewMs }: CliConnection, id: string, sessions: Sessions, now: number): string {
  return holderText(id, sessions.get(id), { now, maxClockSkewMs });
}

/** Includes the time, if there is one. */
function dueFact(task: TaskRecord, now: number): string | undefined {
  if (!('readyAt' in task)) return undefined;
  return stateText(task, now) === stateOf(task, now) ? momentAndAge(task.readyAt, now) : dueText(task, now);
}

interface Shown {
  readonly failure: FailureRecord | undefined;
  /** The session that runs it, in words. */
  readonly holder: string | undefined;
  /** Versions of the code that ran its attempts, by session. */
  readonly codes: ReadonlyMap<string, string>;
  readonly awaited: readonly Awaited[];
}

function taskText(task: TaskRecord, { failure, holder, codes, awaited }: Shown, now: number): string {
  const { lastError, cancellation, claimedAt, past } = task;
  const facts = factsOf([
    ['id', printable(task.id)],
    ['work', task.runId === task.id ? undefined : printable(task.runId)],
    ['queue', printable(task.queue)],
    ['task', printable(task.name)],
    ['label', task.label && printable(task.label)],
    ['tenant', task.tenant && printable(task.tenant)],
    ['state', stateText(task, now)],
    ['priority', task.priority],
    [
      'attempts',
      `${task.attempts}${task.deaths > 0 ? `, of which ${plural(task.deaths, 'killed its worker', 'killed their workers')}` : ''}` +
        (task.generation > 0 ? `, retried by hand ${task.generation === 1 ? 'once' : `${task.generation} times`}` : ''),
    ],
    ['its own', policyText(task.policy)],
    ['schedule', occurrenceText(task.schedule)],
    ['failing', task.failingSince === undefined ? undefined : `since ${momentAndAge(task.failingSince, now)}`],
    ['token', String(task.leaseCounter)],
    ['created', momentAndAge(task.createdAt, now)],
    ['due', dueFact(task, now)],
    ['waits', task.state === 'ready' && task.isInGroup ? printable(waitsForKey(task)) : undefined],
    ['waits for', awaitedText(awaited)],
    ['expires', task.state === 'ready' && task.expiresAt !== undefined ? momentAndAge(task.expiresAt, now) : undefined],
    ['claimed', claimedAt === undefined ? undefined : momentAndAge(claimedAt, now)],
    ['session', holder ?? task.session],
    ['code', codeText(codes.get(task.session ?? ''))],
    ['followed by', followerText(task, now)],
    ['finished', 'finishedAt' in task ? momentAndAge(task.finishedAt, now) : undefined],
    ['cancelled', cancellation && printable(`${momentAndAge(cancellation.at, now)}: ${cancellation.reason}`)],
    [
      'last error',
      lastError && printable(`${momentAndAge(lastError.at, now)} ${lastError.name}: ${lastError.message}`),
    ],
    ['input', shortened(JSON.stringify(task.input), 400)],
    ['progress', task.progress === undefined ? undefined : shortened(JSON.stringify(task.progress), 400)],
    [
      'result',
      task.state === 'done' && task.result !== undefined ? shortened(JSON.stringify(task.result), 400) : undefined,
    ],
    ['spawned', spawnedText(task)],
  ]);
  const parts = [facts, failure && failureText(failure), past.length === 0 ? undefined : historyText(past, codes, now)];
  return parts.filter((part) => part !== undefined).join('\n\n');
}

const codeText = (version: string | undefined): string | undefined => version && printable(version);

function spawnedText(task: TaskRecord): string | undefined {
  if (task.state !== 'done' || task.spawned === undefined) return undefined;
  const { count, first } = task.spawned;
  const names = first.map(({ queue, id }) => (queue === task.queue ? id : `${id} of queue ${queue}`));
  const more = count > first.length ? `, and ${count - first.length} more` : '';
  return printable(`${plural(count, 'task')}: ${names.join(', ')}${more}`);
}

/** The follower, which starts when the running attempt has ended. */
function followerText({ follower }: TaskRecord, now: number): string | undefined {
  if (follower === undefined) return undefined;
  const due = follower.runAt > now ? `, due ${momentAndAge(follower.runAt, now)}` : '';
  return printable(`${follower.name}, asked for ${momentAndAge(follower.at, now)}${due}`);
}

/** Formats the occurrence of the task, and the start of its interval. */
function occurrenceText(occurrence: Occurrence | undefined): string | undefined {
  if (occurrence === undefined) return undefined;
  const since = occurrence.since === undefined ? 'its first' : `since ${moment(occurrence.since)}`;
  return printable(`${occurrence.name}, occurrence ${moment(occurrence.at)}, ${since}`);
}

/** This task's overrides of its definition. */
function policyText({ maxAttempts, timeoutMs }: TaskPolicy = {}): string | undefined {
  const parts = [
    ...(maxAttempts === undefined ? [] : [plural(maxAttempts, 'attempt')]),
    ...(timeoutMs === undefined ? [] : [`${span(timeoutMs)} for each`]),
  ];
  return parts.length === 0 ? undefined : parts.join(', ');
}

function failureText({ stack, leaseCounter }: FailureRecord): string {
  const lines = stack.split('\n').map((line) => `  ${printable(line)}`);
  return [`stack of the attempt with token ${leaseCounter}`, ...lines].join('\n');
}

function historyText(past: readonly PastAttempt[], codes: Shown['codes'], now: number): string {
  return tableText(past, {
    'earlier attempt': ({ how }) => how,
    ended: ({ endedAt }) => relative(endedAt, now),
    took: ({ claimedAt, endedAt }) => (claimedAt === undefined ? '' : span(endedAt - claimedAt)),
    token: ({ leaseCounter }) => String(leaseCounter),
    session: ({ session }) => session,
    ...(codes.size > 0 && { code: ({ session }: PastAttempt) => codeText(codes.get(session)) ?? '' }),
    error: ({ error }) => (error === undefined ? '' : shortened(error, 60)),
  });
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
