/** The command and its subcommands, as one tree: what parsing, help and completion are made from. */
import { Command, Option } from 'commander';
import { DEFAULT_TABLE, ENVIRONMENT } from '../shared/core/environment.ts';
import { DEFAULT_MAX_CLOCK_SKEW_MS } from '../shared/core/lease/timing.ts';
import { regionName, spanOrMs, tableName } from './arguments.ts';
import { everyCommand } from './command-tree.ts';
import { auditCommand } from './commands/audit.ts';
import { completionCommand } from './commands/completion.ts';
import { devCommand } from './commands/dev.ts';
import { doctorCommand } from './commands/doctor.ts';
import { epochCommand } from './commands/epoch.ts';
import { leadersCommand } from './commands/leaders.ts';
import { locksCommand } from './commands/locks.ts';
import { runCommand } from './commands/run.ts';
import { semaphoresCommand } from './commands/semaphores.ts';
import { sessionsCommand } from './commands/sessions.ts';
import { upCommand } from './commands/up.ts';
import { enqueueCommand } from './commands/enqueue.ts';
import { tasksCommand } from './commands/tasks.ts';
import { schedulesCommand } from './commands/schedules.ts';
import { queuesCommand } from './commands/queues.ts';
import { workCommand } from './commands/work.ts';
import { watchCommand } from './commands/watch.ts';
import { costCommand } from './commands/cost.ts';
import type { Bind, Context } from './context.ts';
import { EXIT_CODE_HELP } from './exit.ts';
import * as satellites from './satellites.ts';
import { ownVersion } from './version.ts';

/** In the order in which help names them. */
const COMMANDS = [
  ...[devCommand, runCommand, upCommand, doctorCommand],
  ...[enqueueCommand, workCommand, tasksCommand, schedulesCommand, queuesCommand, watchCommand],
  ...[sessionsCommand, locksCommand, semaphoresCommand, leadersCommand],
  ...[auditCommand, costCommand, epochCommand],
  ...Object.values(satellites),
] as const;

export function createProgram(bind: Bind): Command {
  const program = new Command('leasehold')
    .description('Inspect and manage tasks, locks, semaphores, leaders and sessions in one DynamoDB table.')
    .addOption(
      new Option('--table <name>', 'the table').env(ENVIRONMENT.table).default(DEFAULT_TABLE).argParser(tableName),
    )
    .addOption(new Option('--endpoint <url>', 'DynamoDB endpoint, for a local engine').env(ENVIRONMENT.endpoint))
    .option('--region <name>', "the table's region (default: as for every AWS tool)", regionName)
    .addOption(
      new Option('--max-clock-skew <span>', 'bound on the difference between any two clocks, as deployed')
        .env(ENVIRONMENT.maxClockSkew)
        .default(DEFAULT_MAX_CLOCK_SKEW_MS, '1s')
        .argParser(spanOrMs),
    )
    .option('--json', 'one JSON value on standard output; an error is one on standard error')
    .version(ownVersion(), '--version', 'print the version')
    .configureHelp({ sortSubcommands: false })
    .showHelpAfterError('(add --help to see what there is)')
    .addHelpText('after', HELP)
    .addHelpText('afterAll', ({ command }) => (command.parent === null ? '' : GLOBAL_OPTIONS));
  for (const command of COMMANDS) program.addCommand(command(bind));
  program.addCommand(completionCommand(bind, program));
  program.addCommand(bind(new Command('version').summary('print the version'), printVersion));
  for (const command of everyCommand(program)) command.exitOverride().copyInheritedSettings(program);
  // What `list` does not take is probably a verb; see `bare-nouns.ts`.
  for (const command of everyCommand(program)) if (command.name() === 'list') command.allowExcessArguments();
  return program;
}

function printVersion({ output }: Context): Promise<void> {
  output.answer({ version: ownVersion() }, ownVersion);
  return Promise.resolve();
}

const GLOBAL_OPTIONS = `
Also: --table --endpoint --region --max-clock-skew --json (leasehold --help)`;

const HELP = `
${EXIT_CODE_HELP}

Examples:
  $ leasehold up --endpoint http://127.0.0.1:8000         # make the table in a DynamoDB on this machine
  $ leasehold doctor                                      # checks the table, permissions and clocks
  $ leasehold run --lock nightly -- ./nightly.sh          # one of many crontabs runs it
  $ leasehold locks release nightly --token 42 --reason 'host is gone'
  $ leasehold tasks list --state dead --json | jq '.[].id'`;
