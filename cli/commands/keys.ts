/** `leasehold keys`: shows a key that limits or orders tasks, and repairs it after rows were deleted, edited or restored. */
import { Command } from 'commander';
import type { KeyReport } from '../../shared/tasks/queue/key-report.ts';
import type { TurnReport } from '../../shared/tasks/queue/pass-turn.ts';
import { name } from '../arguments.ts';
import type { AuditOptions } from '../confirm.ts';
import { audited, confirm, operatorOf } from '../confirm.ts';
import type { Bind, Context } from '../context.ts';
import type { CommandError } from '../exit.ts';
import { notFound, refused } from '../exit.ts';
import { tableText } from '../listing.ts';
import { factsOf, plural, printable, relative, shortened } from '../output.ts';
import type { QueueOptions } from '../queue/options.ts';
import { queueOption, shardsOption } from '../queue/options.ts';

/** Running tasks to print. */
const SHOWN = 20;

export function keysCommand(bind: Bind): Command {
  const keys = new Command('keys')
    .summary('show and repair the keys of tasks')
    .description('Shows keys that limit or order tasks, and repairs them after rows were deleted, edited or restored.');
  const show = new Command('show')
    .argument('<key>', 'the key', name)
    .description(
      'One key: its limit, the count in its row, its running tasks as read, and those that wait; ' +
        'of a key that orders tasks: which one has the turn.',
    )
    .addOption(queueOption())
    .addOption(shardsOption());
  keys.addCommand(bind<QueueOptions>(show, showKey));
  const recount = new Command('recount')
    .argument('<key>', 'the key', name)
    .description(
      "Reads the key's running tasks and sets its count. Tasks that start or end in the meantime are not lost.",
    )
    .addOption(queueOption())
    .addOption(shardsOption())
    .addHelpText('after', RECOUNT_HELP);
  keys.addCommand(bind<QueueOptions & AuditOptions>(audited(recount, 'the key'), recountKey));
  const pass = new Command('pass')
    .argument('<key>', 'the key of ordered tasks', name)
    .description('Passes the turn to the next ordered task, if the row of the task that has the turn is gone.')
    .addOption(queueOption())
    .addHelpText('after', PASS_HELP);
  keys.addCommand(bind<Pick<QueueOptions, 'queue'> & AuditOptions>(audited(pass, 'the key'), passTurn));
  return keys.addHelpText('after', HELP);
}

async function showKey({ output, connect, runtime }: Context, options: QueueOptions, key: string): Promise<void> {
  using connection = await connect();
  const { operator } = connection.queue(options.queue, options.shards);
  const report = await operator.key(key, { shards: options.shards });
  // A key that only orders tasks has a line instead of a row.
  const turn = isUnknown(report) ? await operator.turn(key) : undefined;
  if (turn === undefined) output.answer(report, () => keyText(report, runtime.clock.now()));
  else if (turn.kind === 'empty') throw noSuchKey(report);
  else output.answer({ queue: options.queue, key, ...turn }, () => turnText(turn, options.queue, key));
}

async function recountKey(context: Context, options: QueueOptions & AuditOptions, key: string): Promise<void> {
  const { queue, shards } = options;
  using connection = await context.connect();
  await confirm(context, 'counts the running tasks anew of key', key, options);
  const { operations } = connection.queue(queue, shards);
  const report = await operations.execute('key.recount', { queue, key, shards }, operatorOf(options));
  const { kind, before, after } = report;
  context.output.answer({ queue, key, ...report }, () =>
    kind === 'right'
      ? `key ${printable(key)} counts ${plural(after, 'running task')}, which is right`
      : `key ${printable(key)} counts ${plural(after, 'running task')} now, and counted ${before} before`,
  );
}

async function passTurn(
  context: Context,
  options: Pick<QueueOptions, 'queue'> & AuditOptions,
  key: string,
): Promise<void> {
  const { queue } = options;
  using connection = await context.connect();
  await confirm(context, 'passes the turn to the next task of key', key, options);
  const report = await connection.operations.execute('key.pass', { queue, key }, operatorOf(options));
  if (report.kind === 'empty') throw notFound(`ordered task of key ${key} in queue ${queue}`, 'nothing was done');
  if (report.kind === 'alive') throw refused(`task ${report.head} in queue ${queue} ${aliveText(report, queue)}`);
  const to = report.next === undefined ? 'no task waits' : `it is the turn of task ${printable(report.next)}`;
  context.output.answer({ queue, key, ...report }, () => `passed ticket ${report.ticket}: ${to}`);
}

function turnText(turn: Exclude<TurnReport, { kind: 'empty' }>, queue: string, key: string): string {
  const line = `key ${printable(key)} of queue ${printable(queue)} orders tasks`;
  return turn.kind === 'lost'
    ? `${line}: the row of the task that has the turn is gone; repair: leasehold keys pass ${printable(key)}`
    : `${line}: task ${printable(turn.head)} ${aliveText(turn, queue)}`;
}

function aliveText({ state, pausedTenant }: Extract<TurnReport, { kind: 'alive' }>, queue: string): string {
  if (pausedTenant !== undefined)
    return (
      `has the turn and is ${state}, but its tenant is paused, so the others wait: ` +
      `leasehold queues resume ${printable(queue)} --tenant ${printable(pausedTenant)}`
    );
  return `has the turn and is ${state}: the turn passes ${state === 'cancelled' ? 'when a worker meets it' : 'when it ends'}`;
}

function isUnknown({ hasRow, limits }: KeyReport): boolean {
  return !hasRow && limits.length === 0;
}

function noSuchKey({ key, queue }: KeyReport): CommandError {
  return notFound(`key ${key} in queue ${queue}`, 'none of its tasks waits or runs');
}

function keyText(report: KeyReport, now: number): string {
  const { key, queue, limits, count, running, waiting } = report;
  if (count === 0 && limits.length === 0) return `key ${printable(key)} of queue ${printable(queue)}: idle, 0 running`;
  const facts = factsOf([
    ['key', printable(key)],
    ['queue', printable(queue)],
    ['limit', limits.length === 0 ? 'unknown: none of its tasks waits or runs' : limits.join(', ')],
    ['count', String(count)],
    ['running', String(running.length)],
    ['waiting', String(waiting)],
    ['difference', differenceText(report)],
  ]);
  if (running.length === 0) return facts;
  const table = tableText(running.slice(0, SHOWN), {
    'running task': ({ id }) => shortened(id, 48),
    name: ({ name: task }) => shortened(task, 32),
    since: ({ claimedAt }) => relative(claimedAt, now),
    session: ({ session }) => session,
  });
  return `${facts}\n\n${table}`;
}

function differenceText({ key, queue, difference, isExact }: KeyReport): string {
  if (difference === 0) return 'none';
  const found =
    difference > 0
      ? `${plural(difference, 'slot')} taken without a running task`
      : `the count is ${-difference} too low`;
  return isExact
    ? `${found}; repair: leasehold keys recount ${printable(key)} --queue ${printable(queue)}`
    : `${found}, or tasks started or ended during the check: show it again, or pause the queue first`;
}

const HELP = `
Running tasks are read from the indexes of the queue: half a read unit or more for each task that waits or runs.
A key whose row counts more tasks than run has lost slots: a row was deleted by hand, damaged or restored.

Examples:
  $ leasehold keys show customer-7 --queue media
  $ leasehold keys recount customer-7 --queue media --reason 'a task row was deleted by hand'`;

const RECOUNT_HELP = `
If tasks of the key start and end all the time, it gives up after five attempts: pause the queue before.
It reads no task before the latest start is 5 seconds old, so that the indexes show all of them.

Exit codes: 3 tasks of the key kept starting or ending; nothing was done.

Examples:
  $ leasehold keys recount customer-7 --queue media --reason 'a task row was deleted by hand'
  $ leasehold keys recount customer-7 --queue media --reason drill --yes customer-7`;

const PASS_HELP = `
A task that ends passes the turn itself. Only a deleted row stops its line. Reads all unfinished tasks of the queue, after 5 s.

Exit codes: 4 no ordered task of the key waits or runs, 5 the task that has the turn is alive.

Examples:
  $ leasehold keys pass customer-7 --queue media --reason 'the row of its head was deleted by hand'`;
