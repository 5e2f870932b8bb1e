import type { Command } from 'commander';

/** Returns a command and all commands below it, depth first. */
export function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
