/** What operators do to tasks: retry, cancel, redrive. */
import { Command, InvalidArgumentError } from 'commander';
import { findItem } from '../../shared/tasks/bulk/put-bulk.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { waitsFor } from '../../shared/tasks/task/batch.ts';
import type { TaskKey, TaskState } from '../../shared/tasks/task/task.ts';
import { describeTask } from '../../shared/tasks/task/task.ts';
import { name, wholeNumber } from '../arguments.ts';
import type { AuditOptions } from '../confirm.ts';
import { audited, byOption, confirm, operatorOf, reasonOption } from '../confirm.ts';
import type { Bind, Context } from '../context.ts';
import { CommandError, EXIT, taskNotFound } from '../exit.ts';
import { plural, printable } from '../output.ts';
import type { QueueOptions } from '../queue/options.ts';

type RetryOptions = QueueOptions & Pick<AuditOptions, 'reason' | 'by'>;
type RedriveOptions = QueueOptions &
  AuditOptions & { readonly all?: boolean; readonly name?: string; readonly error?: string; readonly limit?: number };

export function taskActs(bind: Bind): readonly Command[] {
  const retry = new Command('retry')
    .argument('<id>', 'its id', name)
    .description(
      'Makes a task due now: one that waits for its time, or one that is dead or cancelled. A dead task gets all its attempts back.',
    )
    .addOption(reasonOption('made due by hand'))
    .addOption(byOption());
  const cancel = new Command('cancel')
    .argument('<id>', 'its id', name)
    .description(
      'Ends a task without a result: at once while it waits; by its signal, with the next heartbeat, while it runs.',
    );
  const redrive = new Command('redrive')
    .argument('[id]', 'its id', idOrNothing)
    .description('Brings dead tasks back, with all their attempts and their history: one, or all of a queue.')
    .option('--all', 'all dead tasks of the queue')
    .option('--name <name>', 'with --all: only those of this definition', name)
    .option('--error <fault>', 'with --all: only those with this error, numbers written as #', name)
    .option('--limit <n>', 'with --all: the largest number of tasks', wholeNumber(1));
  return [
    bind<RetryOptions>(retry, retryTask),
    bind<QueueOptions & AuditOptions>(audited(cancel, 'the id'), cancelTask),
    bind<RedriveOptions>(audited(redrive, 'the queue (with --all)', 'brought back by hand'), redriveTasks),
  ];
}

function idOrNothing(text: string): string {
  if (text === '') throw new InvalidArgumentError('it is empty');
  return name(text);
}

async function retryTask({ output, connect, runtime }: Context, options: RetryOptions, id: string): Promise<void> {
  using connection = await connect();
  const there = connection.queue(options.queue, options.shards);
  const key = { queue: options.queue, id };
  const task = await there.store.get(key);
  if (task === undefined) throw taskNotFound(key);
  if (task.state === 'ready' && !task.isParked && task.readyAt <= runtime.clock.now()) {
    output.answer(task, () => `${printable(describeTask(key))} is due already: it waits for a worker`);
    return;
  }
  // To make due now what waits is one operation; to bring back what has ended is another, whatever the command is called.
  const input = { ...key, leaseCounter: task.leaseCounter };
  const report = await there.operations.execute(
    task.state === 'ready' ? 'task.retry' : 'task.redrive',
    input,
    operatorOf(options),
  );
  if (report.kind === 'missing') throw taskNotFound(key);
  if (report.kind === 'waits')
    throw unfit(key, 'ready', `it ${waitsFor(report.children)}, and runs when the last of them has`);
  if (report.kind === 'unfit')
    throw unfit(key, report.state, 'only one that waits, is dead or cancelled can be retried');
  output.answer(report.task, () => `${printable(describeTask(key))} is due now`);
}

async function cancelTask(context: Context, options: QueueOptions & AuditOptions, id: string): Promise<void> {
  using connection = await context.connect();
  const there = connection.queue(options.queue, options.shards);
  const key = { queue: options.queue, id };
  const task = (await there.store.get(key)) ?? (await findItem(key, there.store));
  if (task === undefined) throw taskNotFound(key);
  await confirm(context, `cancels in queue ${options.queue} the ${task.state} task`, id, options);
  const input = { ...key, leaseCounter: 'leaseCounter' in task ? task.leaseCounter : undefined };
  const report = await there.operations.execute('task.cancel', input, operatorOf(options));
  if (report.kind === 'missing') throw taskNotFound(key);
  if (report.kind === 'ended') throw unfit(key, report.state, 'it has ended already');
  context.output.answer({ queue: options.queue, id, ...report }, () =>
    report.kind === 'cancelled'
      ? `cancelled ${printable(id)}`
      : `${printable(id)} runs: session ${report.session} is told by its next heartbeat`,
  );
}

async function redriveTasks(context: Context, options: RedriveOptions, id?: string): Promise<void> {
  if ((id === undefined) === (options.all !== true))
    throw new ConfigurationError('give the id of a task, or --all: one of the two');
  if (id !== undefined) ensureOfOne(options);
  using connection = await context.connect();
  const there = connection.queue(options.queue, options.shards);
  if (id === undefined) {
    await confirm(context, 'brings back all dead tasks of the queue', options.queue, options);
    const { name: wanted, error: fault, limit } = options;
    const input = { queue: options.queue, name: wanted, fault, limit };
    const redriven = await there.operations.execute('queue.redrive', input, operatorOf(options));
    context.output.answer({ redriven }, () => `brought back ${plural(redriven, 'task')}`);
    return;
  }
  const key = { queue: options.queue, id };
  const task = await there.store.get(key);
  if (task === undefined) throw taskNotFound(key);
  const input = { ...key, leaseCounter: task.leaseCounter };
  const report = await there.operations.execute('task.redrive', input, operatorOf(options));
  if (report.kind === 'missing') throw taskNotFound(key);
  if (report.kind === 'unfit') throw unfit(key, report.state, 'only dead and cancelled tasks can be brought back');
  context.output.answer(report.task, () => `brought back ${printable(id)}`);
}

/** @throws ConfigurationError */
function ensureOfOne(options: RedriveOptions): void {
  const given = (['name', 'error', 'limit'] as const).filter((option) => options[option] !== undefined);
  if (given.length > 0)
    throw new ConfigurationError(
      `${given.map((option) => `--${option}`).join(', ')} go with --all: one task is its id`,
    );
}

function unfit(key: TaskKey, state: TaskState, why: string): CommandError {
  return new CommandError(EXIT.refused, `${describeTask(key)} is ${state}: ${why}; nothing was done`);
}
