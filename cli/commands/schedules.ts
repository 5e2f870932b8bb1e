/** `leasehold schedules`: tasks that recur. */
import { Command, Option } from 'commander';
import type { MissedPolicy, ScheduleRecord } from '../../shared/tasks/schedule/schedule.ts';
import { MISSED_POLICIES } from '../../shared/tasks/schedule/schedule.ts';
import { referenceTo } from '../../shared/tasks/queue/task-file.ts';
import { loadTasks } from '../../shared/tasks/task/module.ts';
import type { Priority } from '../../shared/tasks/task/task.ts';
import { DEFAULT_SHARDS, PRIORITIES } from '../../shared/tasks/task/task.ts';
import { jsonInput, name, spanOption } from '../arguments.ts';
import type { AuditOptions } from '../confirm.ts';
import { audited, byOption, confirm, operatorOf, reasonOption } from '../confirm.ts';
import type { Bind, Context } from '../context.ts';
import { notFound } from '../exit.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list } from '../listing.ts';
import { moment, printable, relative, shortened } from '../output.ts';
import { queueOption } from '../queue/options.ts';

interface Options {
  readonly queue: string;
}

interface DefineOptions extends Options, AuditOptions {
  readonly cron: string;
  readonly zone?: string;
  readonly missed?: MissedPolicy;
  readonly tolerance?: number;
  readonly priority?: Priority;
  readonly entry?: string;
}

export function schedulesCommand(bind: Bind): Command {
  const schedules = new Command('schedules')
    .summary('tasks that recur')
    .description('Defines, lists and removes tasks that recur.');
  const define = new Command('define')
    .argument('<name>', 'the schedule', name)
    .argument('<task>', 'the task to enqueue at each scheduled time', name)
    .argument('[input]', 'its input, as JSON (default: null)')
    .description(
      'Defines a schedule, or changes it. Defining it again as it is changes nothing, so scripts may do so every time.',
    )
    .requiredOption('--cron <expression>', "five fields, as '0 3 * * *'")
    .option('--zone <zone>', 'IANA time zone (default: UTC)')
    .addOption(
      new Option('--missed <policy>', 'what happens to times that passed while nothing looked (default: last)').choices(
        MISSED_POLICIES,
      ),
    )
    .addOption(
      spanOption('--tolerance <span>', "how late a time may be before '--missed skip' leaves it out (default: 1h)"),
    )
    .addOption(new Option('--priority <priority>', 'of its tasks').choices(PRIORITIES))
    .option('--entry <module>', 'the module that defines the tasks: name and input are checked against it')
    .addOption(queueOption())
    .addOption(reasonOption('defined'))
    .addOption(byOption());
  schedules.addCommand(bind<DefineOptions>(define, defineSchedule));
  const listing = new Command('list')
    .description('The schedules of a queue, in order of name.')
    .addOption(queueOption())
    .addOption(limitOption());
  schedules.addCommand(bind<Options & LimitOptions>(listing, listSchedules), { isDefault: true });
  const remove = new Command('remove')
    .argument('<name>', 'the schedule', name)
    .description('Removes a schedule. Tasks that it already enqueued stay.')
    .addOption(queueOption());
  schedules.addCommand(bind<Options & AuditOptions>(audited(remove, 'the name'), removeSchedule));
  return schedules.addHelpText('after', HELP);
}

async function defineSchedule(
  { output, connect, runtime }: Context,
  options: DefineOptions,
  schedule: string,
  task = '',
  input?: string,
): Promise<void> {
  const registry = options.entry === undefined ? undefined : await loadTasks(options.entry);
  const { queue, cron, zone, missed, tolerance, priority } = options;
  using connection = await connect();
  const record = await connection.queue(queue, DEFAULT_SHARDS).operations.execute(
    'schedule.define',
    {
      queue,
      name: schedule,
      task: referenceTo(task, registry),
      input: jsonInput(input),
      options: {
        cron,
        ...(zone === undefined ? {} : { zone }),
        ...(missed === undefined ? {} : { missed }),
        ...(tolerance === undefined ? {} : { tolerance }),
        ...(priority === undefined ? {} : { priority }),
      },
    },
    operatorOf(options),
  );
  output.answer(
    record,
    () =>
      `schedule ${printable(schedule)}: next ${moment(record.nextAt)} (${relative(record.nextAt, runtime.clock.now())})`,
  );
}

async function listSchedules({ output, connect, runtime }: Context, options: Options & LimitOptions): Promise<void> {
  using connection = await connect();
  const now = runtime.clock.now();
  await list(
    connection.leasehold.schedules.list({ queue: options.queue }),
    options,
    {
      schedule: (row: ScheduleRecord) => shortened(row.name, 40),
      cron: ({ cron }) => shortened(cron, 24),
      zone: ({ zone }) => zone,
      task: ({ task }) => shortened(task, 32),
      next: ({ nextAt }) => relative(nextAt, now),
      missed: ({ missed }) => missed,
      priority: ({ priority }) => priority,
    },
    output,
    `no schedules in queue ${options.queue}; define one: leasehold schedules define <name> <task> --cron '0 3 * * *'`,
  );
}

async function removeSchedule(context: Context, options: Options & AuditOptions, schedule: string): Promise<void> {
  const { queue } = options;
  await confirm(context, 'removes schedule', schedule, options);
  using connection = await context.connect();
  const { operations } = connection.queue(queue, DEFAULT_SHARDS);
  const found = await operations.execute('schedule.remove', { queue, name: schedule }, operatorOf(options));
  if (!found) throw notFound(`schedule ${schedule} of queue ${queue}`, "run 'leasehold schedules list' to see them");
  context.output.answer({ queue, name: schedule, removed: true }, () => `schedule ${printable(schedule)} is removed`);
}

const HELP = `
Each time becomes a task with the id <name>@<time>; a dispatcher, or 'leasehold work', enqueues it when it is due.

Examples:
  $ leasehold schedules define nightly report '{"kind": "sales"}' --cron '0 3 * * *' --zone Europe/Berlin
  $ leasehold schedules list --queue reports
  $ leasehold schedules remove nightly --reason 'moved to the warehouse' --yes nightly`;
