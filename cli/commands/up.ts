/** `leasehold up`: creates the table if it does not exist, and checks it. */
import { Command } from 'commander';
import { createTable } from '../../shared/dynamo/table.ts';
import type { Bind, Context } from '../context.ts';
import { describeTable, examineTable } from '../doctor/examine.ts';
import type { ExitCode } from '../exit.ts';
import { CommandError, EXIT } from '../exit.ts';
import { findingsText } from './doctor.ts';

export function upCommand(bind: Bind): Command {
  const command = new Command('up')
    .summary('create the table, or check it')
    .description(
      'Creates the table with its indexes and TTL if it does not exist, then checks it.\n' +
        'On AWS the stack is the better way: it adds recovery, protection, functions and alarms.',
    )
    .addHelpText('after', HELP);
  return bind(command, up);
}

async function up({ settings, output, connect }: Context): Promise<ExitCode> {
  using connection = await connect();
  const { table } = connection;
  const client = await connection.openClient();
  const created = await createTable(client, table);
  const description = await describeTable(client, table);
  if (description === undefined) throw new CommandError(EXIT.failed, `table ${table} was deleted during the check`);
  const findings = await examineTable({ client, table, isEmulator: settings.endpoint !== undefined }, description);
  const faults = findings.filter(({ health }) => health === 'broken' || health === 'warning');
  output.answer({ table, created, findings: faults }, () => {
    const done = `table ${table} ${created ? 'was created' : 'exists'}`;
    return faults.length === 0 ? done : `${done}\n${findingsText(faults, output)}`;
  });
  return faults.some(({ health }) => health === 'broken') ? EXIT.failed : EXIT.done;
}

const HELP = `
Exit codes: 0 it exists and is usable, 1 it exists and cannot be used, 2 and 3 as of every command.

Examples:
  $ leasehold up --endpoint http://127.0.0.1:8000
  $ leasehold up --table staging --region eu-west-1`;
