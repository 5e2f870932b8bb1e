/** `leasehold tasks` alone lists: a group of commands that is given no verb runs its `list`. */
import type { Command } from 'commander';
import { hintFor } from '../shared/core/validate/options.ts';

/**
 * Refuses the words that `list` was given as the default verb and does not take: the first is probably a verb, misspelt.
 * commander ends the program with it as with any wrong command line.
 */
export function refuseUnknownVerb({ args, parent, registeredArguments }: Command): void {
  const [verb] = args;
  if (parent === null || verb === undefined || args.length <= registeredArguments.length) return;
  const known = parent.commands.map((command) => command.name());
  parent.error(`error: unknown command '${verb}': ${parent.name()} has ${known.join(', ')}${hintFor(verb, known)}`);
}
