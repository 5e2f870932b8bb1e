/** `leasehold consul`: Consul's HTTP API for sessions and keys, on this table. */
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Command } from 'commander';
import { DEFAULT_SETTINGS } from './http/gateway.ts';
import type { TokenRules } from './http/tokens.ts';
import { Remote } from './remote/remote.ts';
import { parseTokens } from './http/tokens.ts';
import { ConfigurationError, messageOf } from '../shared/core/errors.ts';
import { name, portOption, spanOption } from '../cli/arguments.ts';
import type { Bind, Context, Environment } from '../cli/context.ts';
import type { ExitCode } from '../cli/exit.ts';
import { printable } from '../cli/output.ts';
import { untilAborted, untilInterrupted } from '../cli/until-interrupted.ts';

interface Options {
  readonly host: string;
  readonly port: number;
  readonly node?: string;
  readonly datacenter: string;
  readonly tokens?: string;
  readonly minTtl: number;
  readonly maxWait: number;
}

const CONSUL_PORT = 8500;
/** The rules themselves, where a file is no good. */
const TOKENS_VARIABLE = 'LEASEHOLD_CONSUL_TOKENS';

export function command(bind: Bind): Command {
  const serving = new Command('consul')
    .summary("Consul's HTTP API for sessions and keys")
    .description(
      "Serves Consul's sessions, keys, transactions and TTL checks from this table, so that programs written for Consul run " +
        'unchanged. All gateways of one table are one service. Runs until interrupted.',
    )
    .option('--host <address>', 'where to listen; beyond loopback only with tokens', '127.0.0.1')
    .addOption(portOption(CONSUL_PORT))
    .option('--node <name>', "the node of sessions that name none (default: this machine's name)", name)
    .option('--datacenter <name>', 'what it calls its datacenter', name, DEFAULT_SETTINGS.datacenter)
    .option(
      '--tokens <file>',
      `access tokens and their permissions, as JSON (or the JSON itself in ${TOKENS_VARIABLE})`,
    )
    .addOption(spanOption('--min-ttl <span>', 'the shortest TTL of a session', DEFAULT_SETTINGS.minTtlMs))
    .addOption(spanOption('--max-wait <span>', 'the longest wait of a blocking query', DEFAULT_SETTINGS.maxWaitMs))
    .addHelpText('after', HELP);
  return bind<Options>(serving, serve);
}

async function serve(context: Context, options: Options): Promise<ExitCode> {
  const { output, connect, runtime, settings, environment } = context;
  const tokens = await tokensOf(options, environment);
  using connection = await connect({ gathers: true });
  const startGateway = await loadGateway();
  const running = await startGateway({
    remote: Remote.over(connection, { table: settings.table, maxClockSkewMs: settings.maxClockSkew }),
    runtime,
    tokens,
    host: options.host,
    port: options.port,
    onFailure: ({ method, path, error }) => output.note(printable(`${method} ${path} failed: ${messageOf(error)}`)),
    settings: {
      ...DEFAULT_SETTINGS,
      node: options.node ?? hostname(),
      datacenter: options.datacenter,
      minTtlMs: options.minTtl,
      maxWaitMs: options.maxWait,
      maxClockSkewMs: settings.maxClockSkew,
    },
  });
  try {
    // As soon as the address is printed, its reader may interrupt us.
    return await untilInterrupted((interrupted) => {
      output.answer({ url: running.url }, () => running.url);
      output.note(`table ${settings.table}${tokens === undefined ? '' : `, ${tokens.length} tokens`}; Ctrl+C ends it`);
      return untilAborted(interrupted);
    });
  } finally {
    await running.close();
  }
}

/** Apart from `using`: where the compiler rewrites that, it leaves the names of imported modules as they are. */
async function loadGateway() {
  const { startGateway } = await import('./http/server.ts');
  return startGateway;
}

async function tokensOf({ tokens }: Options, environment: Environment): Promise<readonly TokenRules[] | undefined> {
  const text = environment[TOKENS_VARIABLE] ?? '';
  if (tokens === undefined) return text === '' ? undefined : parseTokens(text, TOKENS_VARIABLE);
  if (text !== '') throw new ConfigurationError(`--tokens and ${TOKENS_VARIABLE} are both given: omit one of them`);
  return parseTokens(await textOf(tokens), tokens);
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ConfigurationError(`the tokens cannot be read: ${messageOf(cause)}`, { cause });
  }
}

const HELP = `
Examples:
  $ leasehold consul
  $ CONSUL_HTTP_ADDR=127.0.0.1:8500 consul lock nightly ./nightly.sh
  $ leasehold consul --host 0.0.0.0 --tokens tokens.json`;
