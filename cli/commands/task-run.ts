/** `leasehold tasks run`: claims one task and runs it in this process, as a worker would, to find out why it fails. */
import { Command } from 'commander';
import { stampOf } from '../../shared/core/lease/write.ts';
import { HandedBackError } from '../../shared/tasks/task/control.ts';
import { runAttempt } from '../../shared/tasks/run/run-attempt.ts';
import { loadTaskModule } from '../../shared/tasks/run/task-module.ts';
import type { Settlement } from '../../shared/tasks/run/settle.ts';
import type { ReadyTask, RunningTask, TaskRecord } from '../../shared/tasks/task/task.ts';
import { describeTask } from '../../shared/tasks/task/task.ts';
import { openTelemetry } from '../../shared/tasks/tracing/open-telemetry.ts';
import { TaskSpans } from '../../shared/tasks/tracing/task-spans.ts';
import { name } from '../arguments.ts';
import type { QueueConnection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { CommandError, EXIT, taskNotFound } from '../exit.ts';
import { momentAndAge, printable } from '../output.ts';
import type { QueueOptions } from '../queue/options.ts';
import { attemptLines } from '../attempts/attempt-lines.ts';
import { untilInterrupted } from '../until-interrupted.ts';

interface Options extends QueueOptions {
  readonly entry: string;
}

/** Time for task code to stop after Ctrl+C, before the task is handed back. */
const GRACE_MS = 5_000;

export function taskRunCommand(bind: Bind): Command {
  const command = new Command('run')
    .argument('<id>', 'its id', name)
    .description(
      'Claims one task and runs it in this process, with a lease like any worker. Ctrl+C hands it back without counting the attempt.',
    )
    .requiredOption('--entry <module>', 'the module that defines the tasks')
    .addHelpText(
      'after',
      '\nExit codes: 0 done or put off, 1 failed or handed back; 4 ' +
        'there is no such task; 5 it cannot be claimed, or not yet.',
    );
  return bind<Options>(command, runTask);
}

async function runTask(context: Context, options: Options, id: string): Promise<ExitCode> {
  const { output, runtime } = context;
  const { registry, payloads } = await loadTaskModule(options.entry);
  using connection = await context.connect();
  const there = connection.queue(options.queue, options.shards);
  const waiting = await waitingTask(there, id, runtime.clock.now());
  const definition = registry.get(waiting.name);
  if (definition === undefined)
    throw new CommandError(
      EXIT.refused,
      `${describeTask(waiting)} is named ${JSON.stringify(waiting.name)}, which ${options.entry} ` +
        `does not define: it defines ${[...registry.keys()].join(', ')}`,
    );
  await using session = await connection.leasehold.session({ name: `tasks run ${id}` });
  const task = await claim(there, waiting, session.id, context);
  let settlement = 'lost' as Settlement;
  await untilInterrupted(async (interrupted) => {
    const handBack = new AbortController();
    interrupted.addEventListener('abort', () => handBack.abort(new HandedBackError('interrupted')));
    const spans = new TaskSpans(openTelemetry);
    settlement = await runAttempt(
      task,
      definition,
      { takenOver: false },
      {
        spans,
        tasks: there.store,
        payloads,
        session: session.holder,
        runtime,
        log: attemptLines(output, runtime.clock).log,
        handBack: handBack.signal,
        deadlineMonotonicMs: Infinity,
        lifeMs: Infinity,
        graceMs: GRACE_MS,
      },
    );
  });
  const after = await there.store.get(task);
  output.answer({ settlement, task: after ?? null }, () => printable(reportText(settlement, after)));
  return settlement === 'done' || settlement === 'snoozed' ? EXIT.done : EXIT.failed;
}

function reportText(settlement: Settlement, after: TaskRecord | undefined): string {
  if (after?.state === 'done')
    return after.result === undefined ? settlement : `${settlement}: ${printable(JSON.stringify(after.result))}`;
  const error = after?.lastError;
  return error === undefined ? settlement : `${settlement}: ${error.name}: ${error.message}`;
}

async function waitingTask({ store, queue }: QueueConnection, id: string, now: number): Promise<ReadyTask> {
  const what = describeTask({ queue, id });
  const task = await store.get({ queue, id });
  if (task === undefined) throw taskNotFound({ queue, id });
  const obstacle = obstacleOf(task, now);
  if (task.state === 'ready' && obstacle === undefined) return task;
  throw new CommandError(EXIT.refused, `${what} ${obstacle}`);
}

/** Returns why the task cannot be claimed, according to its row. */
function obstacleOf(task: TaskRecord, now: number): string | undefined {
  if (task.state !== 'ready') return `is ${task.state}: only a waiting task can be run`;
  const { expiresAt, readyAt } = task;
  if (expiresAt !== undefined && expiresAt <= now)
    return `expired at ${momentAndAge(expiresAt, now)}: the next worker that reads it cancels it`;
  if (readyAt > now) return `is due at ${momentAndAge(readyAt, now)}: make it due with 'leasehold tasks retry'`;
  return undefined;
}

async function claim(
  { store }: QueueConnection,
  task: ReadyTask,
  session: string,
  { runtime }: Context,
): Promise<RunningTask> {
  const outcome = await store.claim(task, session, stampOf(runtime));
  if (outcome.kind === 'applied') return outcome.row;
  const current = outcome.current ?? (await store.get(task));
  throw new CommandError(EXIT.refused, `${describeTask(task)} ${refusalOf(current, runtime.clock.now())}`);
}

/** @param current the row that refused, which may differ from the row that was read */
function refusalOf(current: TaskRecord | undefined, now: number): string {
  if (current === undefined) return 'is gone';
  const { concurrency: key, line } = current.links ?? {};
  return (
    obstacleOf(current, now) ??
    (line === undefined ? undefined : `waits in the line of ${line.key}: only its head can be run`) ??
    (key === undefined
      ? 'has just changed: try again'
      : `cannot start: its key ${key.key} is at its limit of ${key.limit}; try again when another task of the key has ended`)
  );
}
