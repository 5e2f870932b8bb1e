/** The command and its subcommands as one tree, for parsing and help. */
import { Command, Option } from 'commander';
import { DEFAULT_TABLE, ENVIRONMENT } from '../shared/core/environment.ts';
import { DEFAULT_MAX_CLOCK_SKEW_MS } from '../shared/core/lease/timing.ts';
import { regionName, spanOrMs, tableName } from './arguments.ts';
import { everyCommand } from './command-tree.ts';
import type { Bind, Context, LoadCommand, Satellites } from './context.ts';
import { EXIT_CODE_HELP } from './exit.ts';
import { ownVersion } from './version.ts';

/** In the order of the help. */
const COMMANDS: Readonly<Record<string, LoadCommand>> = {
  init: async () => (await import('./commands/init.ts')).initCommand,
  dev: async () => (await import('./commands/dev.ts')).devCommand,
  engine: async () => (await import('./commands/engine.ts')).engineCommand,
  run: async () => (await import('./commands/run.ts')).runCommand,
  up: async () => (await import('./commands/up.ts')).upCommand,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  enqueue: async () => (await import('./commands/enqueue.ts')).enqueueCommand,
  work: async () => (await import('./commands/work.ts')).workCommand,
  tasks: async () => (await import('./commands/tasks.ts')).tasksCommand,
  callbacks: async () => (await import('./commands/callbacks.ts')).callbacksCommand,
  schedules: async () => (await import('./commands/schedules.ts')).schedulesCommand,
  queues: async () => (await import('./commands/queues.ts')).queuesCommand,
  keys: async () => (await import('./commands/keys.ts')).keysCommand,
  watch: async () => (await import('./commands/watch.ts')).watchCommand,
  sessions: async () => (await import('./commands/sessions.ts')).sessionsCommand,
  locks: async () => (await import('./commands/locks.ts')).locksCommand,
  semaphores: async () => (await import('./commands/semaphores.ts')).semaphoresCommand,
  audit: async () => (await import('./commands/audit.ts')).auditCommand,
  cost: async () => (await import('./commands/cost.ts')).costCommand,
  epoch: async () => (await import('./commands/epoch.ts')).epochCommand,
};

/** The commands that an invocation may need: the named ones, none for the version alone, or all. */
function namedIn(argv: readonly string[], commands: Readonly<Record<string, LoadCommand>>): readonly LoadCommand[] {
  const named = Object.entries(commands).filter(([name]) => argv.includes(name));
  if (named.length > 0 && argv[0]?.startsWith('-h') !== true && argv[0] !== '--help')
    return named.map(([, load]) => load);
  return argv.length === 1 && /^(?:--)?version$/.test(argv[0] ?? '') ? [] : Object.values(commands);
}

/** @param argv of the invocation; without it, the tree is whole */
export async function createProgram(
  bind: Bind,
  satellites: Satellites,
  argv: readonly string[] = [],
): Promise<Command> {
  const theirs = Object.entries(satellites).map(
    ([name, load]) => [name, async () => (await load()).command] satisfies [string, LoadCommand],
  );
  const all = { ...COMMANDS, ...Object.fromEntries(theirs) };
  const commands = await Promise.all(namedIn(argv, all).map((load) => load()));
  const program = new Command('leasehold')
    .description('Inspect and manage tasks, locks, semaphores and sessions in one DynamoDB table.')
    .addOption(
      new Option('--table <name>', 'the table').env(ENVIRONMENT.table).default(DEFAULT_TABLE).argParser(tableName),
    )
    .addOption(new Option('--endpoint <url>', 'DynamoDB endpoint, for a local engine').env(ENVIRONMENT.endpoint))
    .option('--allow-http', 'an http: endpoint may be on another machine; it is readable on the way')
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
    .showHelpAfterError('(run with --help for usage)')
    .addHelpText('after', HELP)
    .addHelpText('afterAll', ({ command }) => (command.parent === null ? '' : GLOBAL_OPTIONS));
  for (const command of commands) program.addCommand(command(bind));
  program.addCommand(bind(new Command('version').summary('print the version'), printVersion));
  for (const command of everyCommand(program)) command.exitOverride().copyInheritedSettings(program);
  // An operand of `list` is probably a verb; see `refuseUnknownVerb`.
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
  $ leasehold run --lock nightly -- ./nightly.sh          # run it on one of many machines
  $ leasehold locks release nightly --token 42 --reason 'host is gone'
  $ leasehold tasks list --state dead --json | jq '.[].id'`;
