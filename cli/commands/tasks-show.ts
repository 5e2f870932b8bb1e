/** `leasehold tasks show`: one task and its history. */
import { Command } from 'commander';
import type { SessionRecord } from '../../shared/session/session-record.ts';
import type { FailureRecord } from '../../shared/tasks/task/task-store.ts';
import type { PastAttempt, Occurrence, TaskPolicy, TaskRecord } from '../../shared/tasks/task/task.ts';
import { name } from '../arguments.ts';
import type { CliConnection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import { taskNotFound } from '../exit.ts';
import { tableText } from '../listing.ts';
import { factsOf, moment, momentAndAge, plural, printable, relative, shortened, span } from '../output.ts';
import type { Awaited } from '../queue/durable-history.ts';
import { awaitedBy, awaitedText, durableHistory, durableText } from '../queue/durable-history.ts';
import type { QueueOptions } from '../queue/options.ts';
import { dueText, holderText, stateOf, stateText } from '../queue/task-words.ts';
import { waitsForKey } from '../queue/waits-for-key.ts';

export function tasksShowCommand(bind: Bind): Command {
  const command = new Command('show').argument('<id>', 'its id', name).description('Shows one task and its history.');
  return bind<QueueOptions>(command, showTask);
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
