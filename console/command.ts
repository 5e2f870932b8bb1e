/** `leasehold console`: the page, served to this machine alone. */
import { Command } from 'commander';
import { DEFAULT_QUEUE } from '../functions/env.ts';
import { name, portOption, spanOption } from '../cli/arguments.ts';
import { byOption, nameAtTheKeyboard } from '../cli/confirm.ts';
import type { Bind, Context } from '../cli/context.ts';
import type { ExitCode } from '../cli/exit.ts';
import type { Page, PageOptions } from '../cli/page.ts';
import type { Runtime } from '../shared/core/runtime/runtime.ts';
import { shardsOption } from '../cli/queue/options.ts';
import { untilAborted, untilInterrupted } from '../cli/until-interrupted.ts';

interface Options {
  readonly port: number;
  readonly readOnly?: boolean;
  readonly queue?: readonly string[];
  readonly shards: number;
  readonly every: number;
  readonly by?: string;
}

const DEFAULT_EVERY_MS = 2_000;

export function command(bind: Bind): Command {
  const serving = new Command('console')
    .summary('open the web console')
    .description(
      'Serves the web console to browsers on this machine. It uses your ' +
        'credentials, listens on loopback only, and admits one browser per printed address. Runs until interrupted.',
    )
    .addOption(portOption(0))
    .option('--read-only', 'show everything, change nothing')
    .option(
      '--queue <name...>',
      `queues to show in addition to those that have had a worker (default: ${DEFAULT_QUEUE})`,
      (queue: string, before: readonly string[] | undefined) => [...(before ?? []), name(queue)],
    )
    .addOption(shardsOption())
    .addOption(spanOption('--every <span>', 'time between reads while a page is open', DEFAULT_EVERY_MS))
    .addOption(byOption())
    .addHelpText('after', HELP);
  return bind<Options>(serving, serve);
}

export async function openPage(options: PageOptions, runtime: Runtime): Promise<Page> {
  const { startConsole } = await import('./server/server.ts');
  return startConsole(options, runtime);
}

async function serve({ output, connect, runtime, settings }: Context, options: Options): Promise<ExitCode> {
  // Says what is wrong with the endpoint, the region or the credentials before anything is served.
  (await connect())[Symbol.dispose]();
  const { table, endpoint, allowHttp, region, maxClockSkew } = settings;
  const { queue: queues = [DEFAULT_QUEUE] } = options;
  const running = await openPage(
    {
      table,
      endpoint,
      allowHttp,
      region,
      maxClockSkewMs: maxClockSkew,
      shards: options.shards,
      queues,
      port: options.port,
      everyMs: options.every,
      isReadOnly: options.readOnly === true,
      by: options.by ?? nameAtTheKeyboard(),
      // In addition to the answer, which is one: its reader may have closed standard output.
      onEntered: (next) => output.note(`for another browser: ${next}`),
    },
    runtime,
  );
  try {
    const address = running.invite();
    // As soon as the address is printed, its reader may interrupt us.
    return await untilInterrupted((interrupted) => {
      output.answer({ address }, () => address);
      output.note(`table ${table}${options.readOnly === true ? ', read-only' : ''}; Ctrl+C ends it`);
      return untilAborted(interrupted);
    });
  } finally {
    await running.close();
  }
}

const HELP = `
The console reads the table only while a page is open, and shows how many read units that takes.

Examples:
  $ leasehold console --endpoint http://127.0.0.1:8000
  $ leasehold console --read-only --port 8090 --queue media --queue mail

  $ leasehold console --json | head -1 | jq -r .address | pbcopy

Open the address by hand. A program that opens it gets it as an argument, and other users of the machine can read the arguments of
all processes: the first browser that brings the token is let in.`;
