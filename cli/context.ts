/** What a command is given: its settings, where it prints, and the way to the table. No command reads the environment or makes a client. */
import type { Command } from 'commander';
import type { Runtime } from '../shared/core/runtime/runtime.ts';
import type { Connection } from './connection.ts';
import type { ExitCode } from './exit.ts';
import type { Output } from './output.ts';
import type { OpenPage } from './page.ts';
import type { ConnectOptions, GlobalOptions } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Context {
  readonly settings: GlobalOptions;
  readonly output: Output;
  readonly runtime: Runtime;
  /** What the command was started with: for those that it starts, and for who is at the keyboard. */
  readonly environment: Environment;
  readonly stdin: NodeJS.ReadStream;
  readonly satellites: Satellites;
  /** @throws ConfigurationError without a region or credentials; StoreUnavailableError when the endpoint does not answer */
  readonly connect: (options?: ConnectOptions) => Promise<Connection>;
}

/** An action's options come from its own declarations, which commander does not tell the compiler about. */
export type Action<Options> = (
  context: Context,
  options: Options,
  ...operands: readonly string[]
) => Promise<ExitCode> | Promise<void>;

/** Binds an action to a command: gives it its context, and turns what it throws into an exit code. */
export type Bind = <Options>(command: Command, action: Action<Options>) => Command;

/** Loads a command: late, because most of the time of a short call would go into loading those that it does not name. */
export type LoadCommand = () => Promise<(bind: Bind) => Command>;

/** What a part of the command that may be taken away exports; `api/satellites.ts` registers those that are installed. */
export interface Satellite {
  readonly command: (bind: Bind) => Command;
  /** Only the console has a page. */
  readonly openPage?: OpenPage;
}

/** By the name of the command. Each is loaded only if it is needed. */
export type Satellites = Readonly<Record<string, () => Promise<Satellite>>>;
