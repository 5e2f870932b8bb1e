/** `leasehold schedules`: manages recurring tasks. */
import { Command, Option } from 'commander';
import type { ScheduleOptions } from '../../shared/tasks/schedule/declaration.ts';
import type { ScheduleRecord } from '../../shared/tasks/schedule/schedule.ts';
import { MISSED_POLICIES, OVERLAP_POLICIES } from '../../shared/tasks/schedule/schedule.ts';
import { referenceTo } from '../../shared/tasks/queue/task-file.ts';
import { loadTasks } from '../../shared/tasks/task/load-module.ts';
import type { SharedTaskOptions } from '../../shared/tasks/task/task-request.ts';
import { optionsIn } from '../../shared/tasks/task/task-request.ts';
import { jsonInput, name, spanOption, time, wholeNumber } from '../arguments.ts';
import type { AuditOptions } from '../confirm.ts';
import { audited, byOption, confirm, operatorOf, reasonOption } from '../confirm.ts';
import type { Action, Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { EXIT, notFound } from '../exit.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list } from '../listing.ts';
import { moment, printable, relative, shortened } from '../output.ts';
import { queueOption } from '../queue/options.ts';
import { taskOptionsOf, withTaskFlags } from '../queue/task-options.ts';

interface Options {
  readonly queue: string;
}

interface DefineOptions extends Options, AuditOptions, Omit<ScheduleOptions, 'queue'> {
  readonly entry?: string;
}

/** The flags of a schedule's own options. `withTaskFlags` has the options of its tasks. */
const flags = (): Readonly<Record<Exclude<keyof ScheduleOptions, keyof SharedTaskOptions>, Option>> => ({
  cron: new Option('--cron <expression>', "five fields, such as '0 3 * * *'").makeOptionMandatory(),
  zone: new Option('--zone <zone>', 'IANA time zone (default: UTC)'),
  missed: new Option(
    '--missed <policy>',
    'what happens to times that passed while no dispatcher ran (default: last)',
  ).choices(MISSED_POLICIES),
  tolerance: spanOption('--tolerance <span>', "how late a time may be before '--missed skip' skips it (default: 1h)"),
  overlap: new Option(
    '--overlap <policy>',
    'what happens to a time while a task has not ended (default: queue)',
  ).choices(OVERLAP_POLICIES),
  startAt: new Option('--start-at <time>', 'no times before this moment, such as 2027-01-31T08:00:00Z').argParser(time),
  endAt: new Option('--end-at <time>', 'no times from this moment on').argParser(time),
  jitter: spanOption('--jitter <span>', 'spread tasks of schedules with the same time over this span'),
});

export function schedulesCommand(bind: Bind): Command {
  const schedules = new Command('schedules')
    .summary('define, list and run schedules')
    .description('Defines, lists and removes tasks that recur, runs them now, and pauses them.');
  const define = new Command('define')
    .argument('<name>', 'the schedule', name)
    .argument('<task>', 'the task to enqueue at each scheduled time', name)
    .argument('[input]', 'its input, as JSON (default: null)')
    .description(
      'Defines a schedule, or changes it. Defining an unchanged schedule again changes nothing, so scripts may do it every time.',
    );
  for (const flag of Object.values(flags())) define.addOption(flag);
  define
    .option('--entry <module>', 'the module that defines the tasks: name and input are checked against it')
    .addOption(queueOption())
    .addOption(reasonOption('defined'))
    .addOption(byOption());
  schedules.addCommand(bind<DefineOptions>(withTaskFlags(define, optionsIn('schedule')), defineSchedule));
  const listing = new Command('list')
    .description('Lists the schedules of a queue by name.')
    .addOption(queueOption())
    .addOption(limitOption());
  schedules.addCommand(bind<Options & LimitOptions>(listing, listSchedules), { isDefault: true });
  const remove = new Command('remove')
    .argument('<name>', 'the schedule', name)
    .description('Removes a schedule. Tasks that it already enqueued stay.')
    .addOption(queueOption());
  schedules.addCommand(bind<Options & AuditOptions>(audited(remove, 'the name'), removeSchedule));
  for (const [verb, [description, act]] of Object.entries(ACTS)) {
    const command = new Command(verb)
      .argument('<name>', 'the schedule', name)
      .description(description)
      .addOption(queueOption())
      .addOption(reasonOption(verb))
      .addOption(byOption());
    schedules.addCommand(bind<Options & AuditOptions>(command, act));
  }
  const next = new Command('next')
    .argument('<name>', 'the schedule', name)
    .description('Shows the next times of a schedule.')
    .addOption(queueOption())
    .option('--limit <n>', 'number of times (default: 5)', wholeNumber(1, NEXT_LIMIT));
  schedules.addCommand(bind<Options & { readonly limit?: number }>(next, showNext));
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
  const { queue } = options;
  using connection = await connect();
  const definition = {
    queue,
    name: schedule,
    task: referenceTo(task, registry),
    input: jsonInput(input),
    options: scheduleOptionsOf(options),
  };
  const record = await connection.operations.execute('schedule.define', definition, operatorOf(options));
  output.answer(record, () => `schedule ${printable(schedule)}: next ${nextText(record.nextAt, runtime.clock.now())}`);
}

function scheduleOptionsOf(options: DefineOptions): ScheduleOptions {
  const own = Object.entries(options).filter(([option]) => option in flags());
  return { ...(Object.fromEntries(own) as Pick<ScheduleOptions, 'cron'>), ...taskOptionsOf(options) };
}

async function listSchedules({ output, connect, runtime }: Context, options: Options & LimitOptions): Promise<void> {
  using connection = await connect();
  const now = runtime.clock.now();
  await list(
    connection.schedules.list({ queue: options.queue }),
    options,
    {
      schedule: (row: ScheduleRecord) => shortened(row.name, 40),
      cron: ({ cron }) => shortened(cron, 24),
      zone: ({ zone }) => zone,
      task: ({ task }) => shortened(task, 32),
      next: ({ nextAt, pausedAt }) =>
        pausedAt !== undefined ? 'paused' : Number.isFinite(nextAt) ? relative(nextAt, now) : 'never',
      missed: ({ missed }) => missed,
      overlap: ({ overlap }) => overlap,
      priority: ({ options: { priority = 'normal' } }) => priority,
    },
    output,
    `no schedules in queue ${options.queue}; define one: leasehold schedules define <name> <task> --cron '0 3 * * *'`,
    'leasehold schedules run NAME runs one now; leasehold schedules pause NAME stops it',
  );
}

async function removeSchedule(context: Context, options: Options & AuditOptions, schedule: string): Promise<void> {
  const { queue } = options;
  await confirm(context, 'removes schedule', schedule, options);
  using connection = await context.connect();
  const found = await connection.operations.execute('schedule.remove', { queue, name: schedule }, operatorOf(options));
  if (!found) throw missing(schedule, queue);
  context.output.answer(
    { queue, name: schedule, removed: true },
    () =>
      `schedule ${printable(schedule)} is removed; a worker whose module declares it defines it again ` +
      'at its next start, so remove it there, too',
  );
}

const ACTS: Readonly<Record<string, readonly [string, Action<Options & AuditOptions>]>> = {
  run: ['Enqueues a task of a schedule now, under its overlap policy. Its next time does not change.', runNow],
  pause: ['Pauses a schedule: times that pass until it is resumed are skipped.', pauseOrResume('pause')],
  resume: ['Resumes a schedule with its next time. Skipped times stay skipped.', pauseOrResume('resume')],
};
const NEXT_LIMIT = 100;
const NEXT_SHOWN = 5;

async function runNow(context: Context, options: Options & AuditOptions, schedule: string): Promise<ExitCode> {
  const { queue } = options;
  using connection = await context.connect();
  const report = await connection.operations.execute('schedule.run', { queue, name: schedule }, operatorOf(options));
  if (report.kind === 'missing') throw missing(schedule, queue);
  context.output.answer(report, () =>
    report.kind === 'enqueued'
      ? `task ${printable(report.task.id)} is added`
      : `schedule ${printable(schedule)} skipped this run: an earlier task of it has not ended`,
  );
  return report.kind === 'enqueued' ? EXIT.done : EXIT.failed;
}

function pauseOrResume(verb: 'pause' | 'resume') {
  return async (context: Context, options: Options & AuditOptions, schedule: string): Promise<void> => {
    const { queue } = options;
    using connection = await context.connect();
    const act = { queue, name: schedule };
    const record = await connection.operations.execute(`schedule.${verb}`, act, operatorOf(options));
    if (record === undefined) throw missing(schedule, queue);
    const now = context.runtime.clock.now();
    context.output.answer(record, () =>
      record.pausedAt !== undefined
        ? `schedule ${printable(schedule)} is paused: it skips its runs until it is resumed`
        : `schedule ${printable(schedule)} is active: next ${nextText(record.nextAt, now)}`,
    );
  };
}

async function showNext(
  context: Context,
  { queue, limit = NEXT_SHOWN }: Options & { readonly limit?: number },
  schedule: string,
): Promise<void> {
  using connection = await context.connect();
  const { schedules } = connection;
  const record = await schedules.get(schedule, { queue });
  if (record === undefined) throw missing(schedule, queue);
  const occurrences = schedules.next(record, limit);
  const now = context.runtime.clock.now();
  const none = record.pausedAt === undefined ? 'the schedule has no further runs' : 'the schedule is paused';
  context.output.answer(
    {
      queue,
      name: schedule,
      pausedAt: record.pausedAt ?? null,
      next: occurrences.map((at) => new Date(at).toISOString()),
    },
    () => (occurrences.length === 0 ? none : occurrences.map((at) => nextText(at, now)).join('\n')),
  );
}

function nextText(at: number, now: number): string {
  return Number.isFinite(at) ? `${moment(at)} (${relative(at, now)})` : 'never';
}

function missing(schedule: string, queue: string) {
  return notFound(`schedule ${schedule} of queue ${queue}`, "'leasehold schedules list' shows all");
}

const HELP = `
Each time becomes a task with the id <name>@<time>; a dispatcher, or 'leasehold work', enqueues it when it is due.
Unless --overlap says otherwise, it waits until the task of the time before has ended.

Examples:
  $ leasehold schedules define nightly report '{"kind": "sales"}' --cron '0 3 * * *' --zone Europe/Berlin
  $ leasehold schedules define hourly sync --cron '0 * * * *' --overlap skip --timeout 50m
  $ leasehold schedules run nightly --reason 'the figures were late'
  $ leasehold schedules list --queue reports
  $ leasehold schedules remove nightly --reason 'moved to the warehouse' --yes nightly`;
