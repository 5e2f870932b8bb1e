/** Helpers for nested commands, and the default verb of a group. */
import type { Command } from 'commander';
import { hintFor } from '../shared/core/validate/options.ts';

/** Returns a command and all commands below it, depth first. */
export function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

/**
 * `leasehold tasks` alone lists. Refuses operands that `list`, as the default verb, does not accept: the first one
 * is probably a misspelt verb.
 * commander then ends the program with its usual error.
 */
export function refuseUnknownVerb({ args, parent, registeredArguments }: Command): void {
  const [verb] = args;
  if (parent === null || verb === undefined || args.length <= registeredArguments.length) return;
  const known = parent.commands.map((command) => command.name());
  parent.error(`error: unknown command '${verb}': ${parent.name()} has ${known.join(', ')}${hintFor(verb, known)}`);
}
