/** Operator actions on tasks: retry and cancel. */
import { Command, InvalidArgumentError } from 'commander';
import { defined } from '../../shared/core/defined.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { Selection } from '../../shared/tasks/queue/cancel-selection.ts';
import { SELECTION, selecting } from '../../shared/tasks/queue/cancel-selection.ts';
import { waitsFor } from '../../shared/tasks/task/batch.ts';
import type { TaskKey, TaskState } from '../../shared/tasks/task/task.ts';
import { describeTask } from '../../shared/tasks/task/task.ts';
import { name, wholeNumber } from '../arguments.ts';
import type { AuditOptions } from '../confirm.ts';
import { audited, confirm, operatorOf } from '../confirm.ts';
import type { Bind, Context } from '../context.ts';
import { CommandError, EXIT, refused, taskNotFound } from '../exit.ts';
import { plural, printable } from '../output.ts';
import type { QueueOptions } from '../queue/options.ts';
import { unfinishedTasks } from '../queue/queue-summary.ts';

type RetryOptions = QueueOptions &
  AuditOptions & { readonly all?: boolean; readonly name?: string; readonly error?: string; readonly limit?: number };

type CancelOptions = QueueOptions & AuditOptions & Selection & { readonly children?: boolean };

export function taskActs(bind: Bind): readonly Command[] {
  const retry = new Command('retry')
    .argument('[id]', 'its id', idOrNothing)
    .description(
      'Makes a waiting task due now, or a dead or cancelled one, which gets all its attempts ' +
        'back and keeps its history. With --all: the dead tasks of the queue.',
    )
    .option('--all', 'all dead tasks of the queue')
    .option('--name <name>', 'with --all: only those of this definition', name)
    .option('--error <fault>', 'with --all: only those with this error, numbers written as #', name)
    .option('--limit <n>', 'with --all: maximum number of tasks', wholeNumber(1));
  const cancel = new Command('cancel')
    .argument('[id]', 'its id', idOrNothing)
    .description(
      'Ends a task without a result: a waiting task at once, a running one by its signal, at the next heartbeat. ' +
        'Without an id: all unfinished tasks of the queue that match the options.',
    )
    .option('--children', 'with an id: the tasks that it waits for, too')
    .option('--tenant <tenant>', 'those of this tenant', name)
    .option('--key <key>', 'those of this key', name)
    .option('--name <name>', 'those of this definition', name)
    .option('--batch <batch>', 'the children of this batch', name);
  return [
    bind<RetryOptions>(audited(retry, 'the queue (with --all)', 'retried by hand'), retryTasks),
    bind<CancelOptions>(audited(cancel, 'the id, or what is selected'), cancelTasks),
  ];
}

function idOrNothing(text: string): string {
  if (text === '') throw new InvalidArgumentError('it is empty');
  return name(text);
}

async function retryTasks(context: Context, options: RetryOptions, id?: string): Promise<void> {
  if ((id === undefined) === (options.all !== true))
    throw new ConfigurationError('pass either the id of a task or --all');
  if (id === undefined) return retryDead(context, options);
  const given = (['name', 'error', 'limit'] as const).filter((option) => options[option] !== undefined);
  if (given.length > 0)
    throw new ConfigurationError(
      `${given.map((option) => `--${option}`).join(', ')} require --all: an id names one task`,
    );
  return retryTask(context, options, id);
}

async function retryDead(context: Context, options: RetryOptions): Promise<void> {
  using connection = await context.connect();
  const { operations } = connection.queue(options.queue, options.shards);
  await confirm(context, 'retries all dead tasks of the queue', options.queue, options);
  const { name: wanted, error: fault, limit, queue } = options;
  const input = { queue, name: wanted, fault, limit };
  const retried = await operations.execute('queue.retry', input, operatorOf(options));
  context.output.answer({ retried }, () => `${plural(retried, 'task')} due now`);
}

async function retryTask({ output, connect, runtime }: Context, options: RetryOptions, id: string): Promise<void> {
  using connection = await connect();
  const there = connection.queue(options.queue, options.shards);
  const key = { queue: options.queue, id };
  const task = await there.store.get(key);
  if (task === undefined) throw taskNotFound(key);
  if (task.state === 'ready' && task.readyAt <= runtime.clock.now()) {
    output.answer(task, () => `${printable(describeTask(key))} is due already: it waits for a worker`);
    return;
  }
  // The command covers two operations: making a waiting task due now, and retrying an ended task.
  const input = { ...key, leaseCounter: task.leaseCounter };
  const report = await there.operations.execute(
    task.state === 'ready' ? 'task.run-now' : 'task.retry',
    input,
    operatorOf(options),
  );
  if (report.kind === 'missing') throw taskNotFound(key);
  if (report.kind === 'waits')
    throw unfit(key, 'ready', `it ${waitsFor(report.children)}, and runs when the last of them has`);
  if (report.kind === 'unfit') throw unfit(key, report.state, 'only a waiting, dead or cancelled task can be retried');
  output.answer(report.task, () => `${printable(describeTask(key))} is due now`);
}

async function cancelTasks(context: Context, options: CancelOptions, id?: string): Promise<void> {
  const selected = SELECTION.filter((part) => options[part] !== undefined);
  if ((id === undefined) === (selected.length === 0))
    throw new ConfigurationError('pass either the id of a task or what selects some, such as --tenant');
  if (id !== undefined) return cancelTask(context, options, id);
  if (options.children === true)
    throw new ConfigurationError('--children requires an id: name the batch whose children to cancel');
  return cancelSelected(context, options);
}

async function cancelSelected(context: Context, options: CancelOptions): Promise<void> {
  using connection = await context.connect();
  const { output } = context;
  const { queue, tenant, key, name: named, batch } = options;
  const there = connection.queue(queue, options.shards);
  const selection = defined({ tenant, key, name: named, batch });
  const isSelected = selecting(selection);
  const found = { ready: 0, running: 0 };
  for await (const task of unfinishedTasks(there)) if (isSelected(task)) found[task.state]++;
  const values = Object.values(selection).join(' ');
  const what = Object.entries(selection)
    .map((part) => part.join(' '))
    .join(', ');
  if (found.ready + found.running === 0)
    throw new CommandError(EXIT.refused, `queue ${queue} has 0 unfinished tasks of ${what}: nothing was done`);
  if (tenant !== undefined)
    output.note(
      'a worker may start some of them first; to prevent that, pause the tenant: ' +
        `leasehold queues pause ${printable(queue)} --tenant ${printable(tenant)}`,
    );
  const counted = `${found.ready} waiting and ${plural(found.running, 'running task')}`;
  await confirm(context, `cancels in queue ${queue} ${counted} of ${what}:`, values, options);
  let shownAt = 0;
  const onProgress = (cancelled: number): void => {
    if (cancelled - shownAt < PROGRESS_STEP) return;
    shownAt = cancelled;
    output.note(`${cancelled} of ${found.ready} cancelled`);
  };
  const input = { queue, shards: options.shards, ...selection, onProgress };
  const report = await there.operations.execute('queue.cancel', input, operatorOf(options));
  output.answer({ queue, ...selection, ...report }, () =>
    report.requested === 0
      ? `cancelled ${plural(report.cancelled, 'task')}`
      : `cancelled ${plural(report.cancelled, 'task')}; ${report.requested} run, and are told by the next heartbeat`,
  );
  if (report.left > 0) output.note(`${plural(report.left, 'task')} changed during the call: repeat it`);
}

/** Cancelled tasks between two lines of progress. */
const PROGRESS_STEP = 1_000;

async function cancelTask(context: Context, options: CancelOptions, id: string): Promise<void> {
  using connection = await context.connect();
  const there = connection.queue(options.queue, options.shards);
  const key = { queue: options.queue, id };
  const task = await there.store.get(key);
  if (task === undefined) throw taskNotFound(key);
  await confirm(context, `cancels in queue ${options.queue} the ${task.state} task`, id, options);
  const input = { ...key, leaseCounter: task.leaseCounter, children: options.children === true };
  const report = await there.operations.execute('task.cancel', input, operatorOf(options));
  if (report.kind === 'missing') throw taskNotFound(key);
  if (report.kind === 'ended') throw unfit(key, report.state, 'it has ended already');
  context.output.answer({ queue: options.queue, id, ...report }, () =>
    [
      report.kind === 'cancelled'
        ? `cancelled ${printable(id)}`
        : `${printable(id)} is running: session ${report.session} learns of it at its next heartbeat`,
      ...(report.children === undefined ? [] : [`and ${plural(report.children.cancelled, 'child', 'children')}`]),
    ].join(', '),
  );
}

function unfit(key: TaskKey, state: TaskState, why: string): CommandError {
  return refused(`${describeTask(key)} is ${state}: ${why}`);
}
