#!/usr/bin/env node
/** The entry of the `leasehold` command: the only place that reads the process's arguments, environment and streams. */
import type { Command } from 'commander';
import { CommanderError } from 'commander';
import { systemRuntime } from '../shared/runtime/runtime.ts';
import type { Action, Context, GlobalOptions } from './context.ts';
import { EXIT, failureOf } from './exit.ts';
import { Output, printable } from './output.ts';
import { createProgram } from './program.ts';

function bind<Options>(command: Command, action: Action<Options>): Command {
  return command.action(async (...received: unknown[]) => {
    // Commander gives the operands, of which a variadic one is a list, then the options, then the command itself.
    const operands = received.slice(0, -2).flat() as string[];
    const options = command.optsWithGlobals<GlobalOptions & Options>();
    process.exitCode = await perform(contextOf(options), (context) => action(context, options, ...operands));
  });
}

function contextOf(settings: GlobalOptions): Context {
  return {
    settings,
    output: outputFor(settings),
    runtime: systemRuntime,
    environment: process.env,
    stdin: process.stdin,
    connect: async () => {
      // The SDK takes a third of a second to load; help and completion do without.
      const { connect } = await import('./connection.ts');
      return connect(settings, systemRuntime);
    },
  };
}

function outputFor({ json }: Pick<GlobalOptions, 'json'>): Output {
  return new Output({ isJson: json === true, out: process.stdout, err: process.stderr });
}

async function perform(context: Context, action: (context: Context) => Promise<number | undefined>): Promise<number> {
  try {
    return (await action(context)) ?? EXIT.done;
  } catch (error) {
    const { message, exitCode, stack } = failureOf(error, context.settings.table);
    context.output.error(message, exitCode);
    if (stack !== undefined) context.output.note(stack.split('\n').map(printable).join('\n'));
    return exitCode;
  }
}

// As for most tools, a variable that is empty is none.
for (const [variable, value] of Object.entries(process.env))
  if (variable.startsWith('LEASEHOLD_') && value === '') Reflect.deleteProperty(process.env, variable);
const program = createProgram(bind);

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever read us has read enough, as `head` does.
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  outputFor(program.opts()).error(`the answer cannot be written: ${error.message}`, EXIT.failed);
  process.exit(EXIT.failed);
});
// Notes are for people who watch: the work goes on without them.
process.stderr.on('error', () => undefined);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Help that was asked for ends with 0; whatever else commander ends with is a wrong command line.
  process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage;
}
