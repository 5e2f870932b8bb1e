/** `leasehold engine`: a DynamoDB on this machine, with the table in it, for tests and other terminals. */
import { Command } from 'commander';
import { engineOf, engineOption } from '../../local/engine-option.ts';
import { ENVIRONMENT } from '../../shared/core/environment.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { DEFAULT_ENGINE_PORT, portOption } from '../arguments.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { untilAborted, untilInterrupted } from '../until-interrupted.ts';

interface Options {
  readonly engine: string;
  readonly port: number;
}

export function engineCommand(bind: Bind): Command {
  const command = new Command('engine')
    .summary('start a DynamoDB on this machine')
    .description('Starts a DynamoDB on this machine with the table in it. It ends with Ctrl+C, data included.')
    .addOption(engineOption('memory, or dynamodb-local (AWS’s own emulator, needs Java 17)').default('memory'))
    .addOption(portOption(DEFAULT_ENGINE_PORT, '--port', 'port of the engine'))
    .addHelpText('after', HELP);
  return bind<Options>(command, run);
}

async function run({ settings, runtime, output }: Context, options: Options): Promise<ExitCode> {
  const { startEngine, connect } = await loadParts();
  return await untilInterrupted(async (interrupted) => {
    const engine = await startEngine(engineOf(options.engine, options.port || undefined));
    try {
      const { kind, endpoint } = engine;
      using connection = await connect({ ...settings, endpoint }, runtime);
      const { table } = connection;
      await createTable(await connection.openClient(), table);
      output.answer(
        { engine: kind, endpoint, table },
        () => `engine   ${kind}, with table ${table}; for other terminals: export ${ENVIRONMENT.endpoint}=${endpoint}`,
      );
      await untilAborted(interrupted);
    } finally {
      await engine.stop();
    }
  });
}

/** A separate function, because the compiler's rewriting of `using` does not rename imported modules. */
async function loadParts() {
  const { startEngine } = await import('../../local/engine.ts');
  const { connect } = await import('../connection.ts');
  return { startEngine, connect };
}

const HELP = `
Examples:
  $ leasehold engine                            # the exact table of the test kit, behind HTTP
  $ leasehold engine --engine dynamodb-local --port 8001`;
