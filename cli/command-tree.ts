import type { Command } from 'commander';

/** A command and all below it, depth first. */
export function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
