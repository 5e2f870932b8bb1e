/** `leasehold audit`: list operator actions and their reasons. */
import { Command } from 'commander';
import type { Bind, Context } from '../context.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list } from '../listing.ts';
import { moment, shortened } from '../output.ts';

export function auditCommand(bind: Bind): Command {
  const command = new Command('audit')
    .summary('list operator actions and their reasons')
    .description(
      'Lists operator actions, such as forced releases, the latest first. An entry without an outcome was interrupted; the action may have been applied.',
    )
    .addOption(limitOption())
    .addHelpText('after', HELP);
  return bind<LimitOptions>(command, audit);
}

async function audit({ output, connect }: Context, options: LimitOptions): Promise<void> {
  using connection = await connect();
  await list(
    connection.audit.list(),
    options,
    {
      at: ({ at }) => moment(at),
      by: ({ by }) => shortened(by, 24),
      act: ({ verb }) => verb,
      on: ({ target }) => shortened(target, 60),
      outcome: ({ outcome }) => outcome,
      reason: ({ reason }) => shortened(reason, 60),
    },
    output,
    'no operator actions recorded',
  );
}

const HELP = `
Examples:
  $ leasehold audit --limit 20
  $ leasehold audit --json | jq '.[] | select(.by | startswith("ann"))'`;
