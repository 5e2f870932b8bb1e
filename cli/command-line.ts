/** The `leasehold` command without a process: an environment and streams come in, and an exit code comes out. */
import type { Command } from 'commander';
import { CommanderError } from 'commander';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import { everyCommand, refuseUnknownVerb } from './command-tree.ts';
import type { Action, Context, Environment, Satellites } from './context.ts';
import type { ExitCode } from './exit.ts';
import { EXIT, failureOf } from './exit.ts';
import { HELP_COLUMNS, fitted } from './help-text.ts';
import { Output, printableLines } from './output.ts';
import { createProgram } from './program.ts';
import type { GlobalOptions } from './settings.ts';

interface Terminal {
  readonly environment: Environment;
  readonly stdin: NodeJS.ReadStream;
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
  /** Installed parts with their own commands. */
  readonly satellites: Satellites;
}

interface CommandLine {
  /** @param argv the arguments after the program's name */
  perform(argv: readonly string[]): Promise<ExitCode>;
  /** Reports on standard error that standard output failed, unless its reader has just closed it. */
  cannotAnswer(error: NodeJS.ErrnoException): ExitCode;
}

export function openCommandLine(terminal: Terminal): CommandLine {
  let exitCode: ExitCode = EXIT.done;
  const outputFor = ({ json }: Pick<GlobalOptions, 'json'>): Output =>
    new Output({ isJson: json === true, ...terminal });
  const bind = <Options>(command: Command, action: Action<Options>): Command =>
    command.action(async (...received: unknown[]) => {
      // commander passes the operands (a variadic one as a list), then the options, then the command itself.
      if (command.name() === 'list') refuseUnknownVerb(command);
      const operands = received.slice(0, -2).flat() as string[];
      const options = command.optsWithGlobals<GlobalOptions & Options>();
      const context = contextOf(terminal, options, outputFor(options));
      exitCode = await performAction(context, () => action(context, options, ...operands));
    });
  let isJson = false;
  return {
    async perform(argv) {
      const program = await createProgram(bind, terminal.satellites, argv);
      for (const command of everyCommand(program))
        command.configureOutput({
          writeOut: (text) => void terminal.out.write(printableLines(fitted(text))),
          getOutHelpWidth: () => HELP_COLUMNS,
          writeErr: (text) => void terminal.err.write(printableLines(text)),
        });
      program.hook('preAction', () => {
        isJson = program.opts<Pick<GlobalOptions, 'json'>>().json === true;
      });
      try {
        await program.parseAsync(argv, { from: 'user' });
        return exitCode;
      } catch (error) {
        if (!(error instanceof CommanderError)) throw error;
        // Requested help ends with 0. Any other end by commander is a wrong command line.
        return error.exitCode === 0 ? EXIT.done : EXIT.usage;
      }
    },
    cannotAnswer(error) {
      // The reader has read enough, as `head` does.
      if (error.code === 'EPIPE') return EXIT.done;
      outputFor({ json: isJson }).error(`the output cannot be written: ${error.message}`, EXIT.failed);
      return EXIT.failed;
    },
  };
}

function contextOf({ environment, stdin, satellites }: Terminal, settings: GlobalOptions, output: Output): Context {
  return {
    settings,
    output,
    environment,
    stdin,
    satellites,
    runtime: systemRuntime,
    connect: async (options) => {
      // The SDK takes a third of a second to load, and help and completion do not need it.
      const { connect } = await import('./connection.ts');
      return connect(settings, systemRuntime, options);
    },
  };
}

async function performAction(context: Context, action: () => Promise<ExitCode> | Promise<void>): Promise<ExitCode> {
  try {
    return (await action()) ?? EXIT.done;
  } catch (error) {
    const { message, exitCode, stack, issues } = failureOf(error, context.settings.table);
    context.output.error(message, exitCode, { issues });
    if (stack !== undefined) context.output.note(printableLines(stack));
    return exitCode;
  }
}
