/** `leasehold tasks run`: one task, claimed and run in this process, as a worker would: for finding out why it fails. */
import { Command } from 'commander';
import { stampOf } from '../../shared/lease/stamp.ts';
import { HandedBackError } from '../../shared/task/control.ts';
import { runClaim } from '../../shared/task/run.ts';
import type { ReadyTask, RunningTask } from '../../shared/task/task.ts';
import { describeTask } from '../../shared/task/task.ts';
import { name } from '../arguments.ts';
import type { QueueConnection } from '../connection.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { CommandError, EXIT, notFound } from '../exit.ts';
import { momentAndAge, printable } from '../output.ts';
import type { QueueOptions } from '../queue/options.ts';
import { logTo } from '../queue/task-log.ts';
import { loadWork } from '../queue/task-module.ts';
import { untilInterrupted } from '../until-interrupted.ts';

interface Options extends QueueOptions {
  readonly entry: string;
}

/** For task code to stop after Ctrl+C, before the task is handed back. */
const GRACE_MS = 5_000;

export function taskRunCommand(bind: Bind): Command {
  const command = new Command('run')
    .argument('<id>', 'its id', name)
    .description(
      'Claims one task and runs it in this process, with a lease like any worker. Ctrl+C hands it back, its attempt not counted.',
    )
    .requiredOption('--entry <module>', 'the module that defines the tasks')
    .addHelpText(
      'after',
      '\nExit codes: 0 done or put off, 1 it failed or was handed back, 4 there is no such task, 5 it does not wait, or not yet.',
    );
  return bind<Options>(command, runTask);
}

async function runTask(context: Context, options: Options, id: string): Promise<ExitCode> {
  const { output, runtime } = context;
  const { registry, payloads } = await loadWork(options.entry);
  using connection = await context.connect();
  const there = connection.queue(options.queue, options.shards);
  const waiting = await waitingTask(there, id, runtime.clock.now());
  await using session = await connection.leasehold.session({ name: `tasks run ${id}` });
  const task = await claim(there, waiting, session.id, context);
  let settlement = 'lost';
  await untilInterrupted(async (interrupted) => {
    const handBack = new AbortController();
    interrupted.addEventListener('abort', () => {
      handBack.abort(new HandedBackError('interrupted'));
    });
    settlement = await runClaim(task, registry.get(task.name), {
      ...{ tasks: there.store, payloads, session: session.holder, runtime, log: logTo(output) },
      ...{ handBack: handBack.signal, deadlineMonotonicMs: Infinity, graceMs: GRACE_MS },
    });
  });
  const after = await there.store.get(task);
  output.answer({ settlement, task: after ?? null }, () => {
    const error =
      after?.state !== 'done' && after?.lastError !== undefined
        ? `: ${after.lastError.name}: ${after.lastError.message}`
        : '';
    const result = after?.state === 'done' && after.result !== undefined ? `: ${JSON.stringify(after.result)}` : '';
    return printable(`${settlement}${result}${error}`);
  });
  return settlement === 'done' || settlement === 'snoozed' ? EXIT.done : EXIT.failed;
}

async function waitingTask({ store, queue }: QueueConnection, id: string, now: number): Promise<ReadyTask> {
  const what = describeTask({ queue, id });
  const task = await store.get({ queue, id });
  if (task === undefined) throw notFound(what, 'it never was, or was swept two weeks after its end');
  if (task.state !== 'ready')
    throw new CommandError(EXIT.refused, `${what} is ${task.state}: only one that waits can be run`);
  if (task.readyAt > now)
    throw new CommandError(
      EXIT.refused,
      `${what} is due at ${momentAndAge(task.readyAt, now)}: make it due with 'leasehold tasks retry'`,
    );
  return task;
}

async function claim(
  { store }: QueueConnection,
  task: ReadyTask,
  session: string,
  { runtime }: Context,
): Promise<RunningTask> {
  const outcome = await store.claim(task, session, stampOf(runtime));
  if (outcome.kind === 'applied') return outcome.row;
  throw new CommandError(EXIT.refused, `${describeTask(task)} was claimed by somebody else in the last moment`);
}
