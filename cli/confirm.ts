/**
 * Confirmation of actions that take something away from a holder. The operator types its name and gives a reason, and the audit log
 * records both. `--yes KEY` is for scripts; it repeats the name, so that a command from the history does not hit another object.
 */
import { hostname, userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { Option } from 'commander';
import { ConfigurationError } from '../shared/core/errors.ts';
import type { Operator } from '../shared/operate/operations.ts';
import { name } from './arguments.ts';
import type { Context } from './context.ts';
import { CommandError, EXIT } from './exit.ts';
import { printable } from './output.ts';

interface ConfirmOptions {
  readonly yes?: string;
}

export interface AuditOptions extends ConfirmOptions {
  readonly reason: string;
  readonly by?: string;
}

/**
 * Adds the options of a confirmed and recorded action.
 * @param what the value that the operator repeats as confirmation
 * @param reasonByDefault see `reasonOption`
 */
export function audited(command: Command, what: string, reasonByDefault?: string): Command {
  return command
    .addOption(reasonOption(reasonByDefault))
    .addOption(byOption())
    .addOption(new Option('--yes <name>', `confirm, by repeating ${what}`));
}

/** @param byDefault the reason for harmless actions; without it, `--reason` is mandatory */
export function reasonOption(byDefault?: string): Option {
  const option = new Option('--reason <text>', 'the reason, for the audit log').argParser(name);
  return byDefault === undefined ? option.makeOptionMandatory() : option.default(byDefault);
}

export function byOption(): Option {
  return new Option('--by <name>', 'the operator, for the audit log (default: you, at this machine)').argParser(name);
}

/** Returns the operator, by default the person at the keyboard, and the reason. */
export function operatorOf({ by, reason }: Pick<AuditOptions, 'by' | 'reason'>): Operator {
  return { by: by ?? nameAtTheKeyboard(), reason };
}

export function nameAtTheKeyboard(): string {
  return `${userName()}@${hostname()}`;
}

/**
 * Returns after the operator has typed `expected`.
 * @param what the action, in the middle of a sentence
 * @throws ConfigurationError if standard input is not a terminal; CommandError if something else was typed
 */
export async function confirm(
  context: Context,
  what: string,
  expected: string,
  { yes }: ConfirmOptions,
): Promise<void> {
  const typed = yes ?? (await ask(context, what, expected));
  if (typed === expected) return;
  throw new CommandError(
    EXIT.usage,
    `not confirmed: this ${what} ${printable(expected)}, and you typed ${printable(typed)}; nothing was done`,
  );
}

async function ask({ stdin, output }: Context, what: string, expected: string): Promise<string> {
  if (!stdin.isTTY || !output.err.isTTY)
    throw new ConfigurationError(`this ${what} ${expected}: confirm it with --yes ${JSON.stringify(expected)}`);
  const prompt = createInterface({ input: stdin, output: output.err });
  try {
    return await prompt.question(`This ${what} ${printable(expected)}. Type that name to go on: `);
  } finally {
    prompt.close();
  }
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown'; // A user id without a name, as in many containers.
  }
}
