/** `leasehold audit`: what operators did, and why. */
import { Command } from 'commander';
import type { Bind, Context } from '../context.ts';
import type { LimitOptions } from '../listing.ts';
import { limitOption, list } from '../listing.ts';
import { moment, shortened } from '../output.ts';

export function auditCommand(bind: Bind): Command {
  const command = new Command('audit')
    .summary('what operators did, and why')
    .description(
      'Forced releases, evictions and the like, the latest first. One that has only begun was interrupted, and may have been done.',
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
