/** Commands in this process over rows that are made up, at a fixed moment: each prints the same every time. */
import { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import { CommanderError } from 'commander';
import { everyCommand } from '../../cli/command-tree.ts';
import type { CliConnection } from '../../cli/connection.ts';
import type { Action, Context } from '../../cli/context.ts';
import { EXIT, failureOf } from '../../cli/exit.ts';
import { Output } from '../../cli/output.ts';
import { createProgram } from '../../cli/program.ts';
import type { GlobalOptions } from '../../cli/settings.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { STARTED } from './made-rows.ts';
import { ManualClock } from './manual-clock.ts';

/** @param members the members that the command uses. A call of any other member fails the command */
export function connectionOf(members: object): CliConnection {
  return {
    table: 'leasehold',
    maxClockSkewMs: 1_000,
    readUnits: () => 0,
    [Symbol.dispose]: () => undefined,
    ...members,
  } as never;
}

/**
 * Returns all that the command prints and how it ends, below its command line.
 * @param asked what the test itself noted, printed behind it
 * @param runtime by default, its clock advances at once by each sleep
 */
export async function printedBy(
  argv: readonly string[],
  connection: CliConnection,
  asked: string[] = [],
  runtime: Runtime = { ...systemRuntime, clock: new HastyClock(STARTED) },
): Promise<string> {
  const told = new Told();
  let exitCode: number = EXIT.done;
  const bind = <Options>(command: Command, action: Action<Options>): Command =>
    command.action(async (...received: unknown[]) => {
      const options = command.optsWithGlobals<GlobalOptions & Options>();
      const context = contextOf(options, told.output(options.json === true), runtime, connection);
      try {
        exitCode = (await action(context, options, ...(received.slice(0, -2).flat() as string[]))) ?? EXIT.done;
      } catch (error) {
        // A mistake of these rows, which no text may record.
        if (error instanceof TypeError) throw error;
        const { message, exitCode: code } = failureOf(error, options.table);
        context.output.error(message, code);
        exitCode = code;
      }
    });
  const program = await createProgram(bind, {}, argv);
  for (const command of everyCommand(program))
    command.configureOutput({ writeOut: told.write, writeErr: (text) => told.write(`! ${text}`) });
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  const words = argv.map((word) => (/^[\w./=:@+-]+$/.test(word) ? word : `'${word}'`));
  const ending = exitCode === EXIT.done ? [] : [`(exit code ${exitCode})`];
  return [`$ leasehold ${words.join(' ')}`, told.text.trimEnd(), ...asked, ...ending, ''].join('\n');
}

function contextOf(settings: GlobalOptions, output: Output, runtime: Runtime, connection: CliConnection): Context {
  return {
    settings,
    output,
    runtime,
    environment: {},
    stdin: Readable.from([TASKS]) as unknown as NodeJS.ReadStream,
    satellites: {},
    connect: () => Promise.resolve({ ...connection, runtime }),
  };
}

/** The command's standard input: a file of tasks. */
const TASKS = '{"name":"resize","id":"a"}\n\n{"name":"resize","id":"b","priority":"low"}\n{"name":"fine","id":"c"}\n';

/** Each sleep ends at once, and advances the clock. */
class HastyClock extends ManualClock {
  override async sleep(ms: number): Promise<void> {
    await this.advance(ms);
  }
}

/** The output of a command so far; lines of standard error begin with `!`. */
class Told {
  text = '';

  readonly write = (text: string): void => {
    this.text += text;
  };

  output(isJson: boolean): Output {
    return new Output({ isJson, out: this.#stream(''), err: this.#stream('! ') });
  }

  #stream(mark: string): NodeJS.WriteStream {
    const stream = new Writable({
      decodeStrings: false,
      write: (text: string, _encoding, done) => {
        this.write(mark + text);
        done();
      },
    });
    return stream as unknown as NodeJS.WriteStream;
  }
}
