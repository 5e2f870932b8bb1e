/** `leasehold tasks show`: one task and its history. */
import { Command } from 'commander';
import type { SessionRecord } from '../../shared/session/session-record.ts';
import type { FailureRecord } from '../../shared/tasks/task/task-store.ts';
import type { Occurrence, TaskPolicy, TaskRecord } from '../../shared/tasks/task/task.ts';
import { name } from '../arguments.ts';
import type { CliConnection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import { taskNotFound } from '../exit.ts';
import { ownStack } from '../attempts/frames.ts';
import { factsOf, moment, momentAndAge, plural, printable, queueFlag, shellWord, shortened, span } from '../output.ts';
import type { Awaited } from '../queue/durable-history.ts';
import { awaitedBy, awaitedText, durableHistory, durableText } from '../queue/durable-history.ts';
import type { QueueOptions } from '../queue/options.ts';
import { dueText, holderText, stateOf, stateText, waitsForKey } from '../queue/task-words.ts';
import { timeLineText } from '../queue/time-line.ts';

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
  const awaited = awaitedBy(task, history ?? []);
  const answer = journal === undefined ? known : { ...known, waitsFor: awaited, history };
  const workers = Object.fromEntries(
    [...sessions].map(([at, { name: of, node, codeVersion }]) => [at, { name: of, node, codeVersion }]),
  );
  output.answer({ ...answer, failure, workers }, () =>
    [
      taskText(task, { holder, awaited }, now),
      failure && failureText(failure),
      timeLineText(task, sessions, now),
      history && durableText(history, now),
    ]
      .filter(Boolean)
      .join('\n\n'),
  );
  const next = nextFor(task, awaited);
  if (next !== undefined) output.note(printable(next));
}

/** The sessions of the task's attempts, as far as they are kept. */
function sessionsOf(
  { sessions }: CliConnection,
  { session, past }: TaskRecord,
): Promise<ReadonlyMap<string, SessionRecord>> {
  const ids = new Set([session, ...past.map((attempt) => attempt.session)]);
  // A damaged row is as good as none: `sessions show` names the damage.
  return sessions.getMany(
    [...ids].filter((id) => id !== undefined),
    () => undefined,
  );
}

function holderOf(
  { maxClockSkewMs }: CliConnection,
  id: string,
  sessions: ReadonlyMap<string, SessionRecord>,
  now: number,
): string {
  return holderText(id, sessions.get(id), { now, maxClockSkewMs });
}

/** Includes the time, if there is one. */
function dueFact(task: TaskRecord, now: number): string | undefined {
  if (!('readyAt' in task)) return undefined;
  return stateText(task, now) === stateOf(task, now) ? momentAndAge(task.readyAt, now) : dueText(task, now);
}

interface Shown {
  /** The session that runs it, in words. */
  readonly holder: string | undefined;
  readonly awaited: readonly Awaited[];
}

function taskText(task: TaskRecord, { holder, awaited }: Shown, now: number): string {
  const { lastError, cancellation } = task;
  return factsOf([
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
    [
      'failing',
      task.failingSince === undefined || task.state === 'done'
        ? undefined
        : `since ${momentAndAge(task.failingSince, now)}`,
    ],
    ['token', String(task.leaseCounter)],
    ['due', dueFact(task, now)],
    ['waits', task.state === 'ready' && task.isInGroup ? printable(waitsForKey(task)) : undefined],
    ['waits for', awaitedText(awaited)],
    ['expires', task.state === 'ready' && task.expiresAt !== undefined ? momentAndAge(task.expiresAt, now) : undefined],
    ['session', holder],
    ['followed by', followerText(task, now)],
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
}

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
  const lines = ownStack(stack).split('\n');
  return [`stack of the attempt with token ${leaseCounter}`, ...lines.map((line) => `  ${printable(line)}`)].join('\n');
}

/** The commands that an operator may want next. */
function nextFor(task: TaskRecord, awaited: readonly Awaited[]): string | undefined {
  const { queue, id, links } = task;
  const own = (verb: string): string => `leasehold tasks ${verb} ${shellWord(id)}${queueFlag(queue)}`;
  if (task.state === 'dead' || task.state === 'cancelled') return `${own('retry')} runs it again`;
  if (task.state === 'running')
    return `leasehold sessions show ${shellWord(task.session)} says whether its worker lives; ${own('cancel')} ends it`;
  const [spawned] = task.state === 'done' ? (task.spawned?.first ?? []) : [];
  if (spawned !== undefined)
    return `leasehold tasks show ${shellWord(spawned.id)}${queueFlag(spawned.queue)} tells of the first that it spawned`;
  if (task.state === 'done') return undefined;
  const callback = awaited.find((one) => one.callback !== undefined)?.callback;
  const key = links?.concurrency?.key ?? links?.line?.key;
  if (callback !== undefined) return `leasehold callbacks succeed ${callback} answers it; ${own('cancel')} ends it`;
  if (key !== undefined) return `leasehold keys show ${shellWord(key)}${queueFlag(queue)} says who has its key`;
  return `leasehold queues stats ${shellWord(queue)} says whether it has workers; ${own('cancel')} ends it`;
}
