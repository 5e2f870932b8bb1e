/** A command's inputs: its settings, its output, and the table. Commands do not read the environment or create clients. */
import type { Command } from 'commander';
import type { Runtime } from '../shared/core/runtime/runtime.ts';
import type { CliConnection } from './connection.ts';
import type { ExitCode } from './exit.ts';
import type { Output } from './output.ts';
import type { OpenPage } from './page.ts';
import type { ConnectOptions, GlobalOptions } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Context {
  readonly settings: GlobalOptions;
  readonly output: Output;
  readonly runtime: Runtime;
  /** The command's own environment: for child processes, and for the person's name. */
  readonly environment: Environment;
  readonly stdin: NodeJS.ReadStream;
  readonly satellites: Satellites;
  /** @throws ConfigurationError without a region or credentials; StoreUnavailableError when the endpoint does not answer */
  readonly connect: (options?: ConnectOptions) => Promise<CliConnection>;
}

/** An action's options come from its own declarations, which commander's types do not express. */
export type Action<Options> = (
  context: Context,
  options: Options,
  ...operands: readonly string[]
) => Promise<ExitCode> | Promise<void>;

/** Binds an action to a command: passes its context, and turns a thrown error into an exit code. */
export type Bind = <Options>(command: Command, action: Action<Options>) => Command;

/** Loads a command lazily, because loading the others would take most of the time of a short call. */
export type LoadCommand = () => Promise<(bind: Bind) => Command>;

/** The exports of a removable part of the command; `api/satellites.ts` registers the installed ones. */
interface Satellite {
  readonly command: (bind: Bind) => Command;
  /** Present only for the console. */
  readonly openPage?: OpenPage;
}

/** By command name. Each is loaded only when needed. */
export type Satellites = Readonly<Record<string, () => Promise<Satellite>>>;
