/** Runs the `leasehold` command: as a process, as a shell does, or in this one. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { SATELLITES } from '../../api/satellites.ts';
import { openCommandLine } from '../../cli/command-line.ts';
import type { Environment, Satellites } from '../../cli/context.ts';

// In this process, too, the terminal's settings must not decide the output.
Reflect.deleteProperty(process.env, 'FORCE_COLOR');

const PROGRAM = fileURLToPath(new URL('../../api/command.ts', import.meta.url));

export interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface RunningCommand {
  readonly process: ChildProcess;
  readonly ended: Promise<CommandEnd>;
  /** The standard output so far. */
  out(): string;
  err(): string;
  /** Resolves when either stream has said something that fits. @throws when the process ends without having said it */
  said(pattern: RegExp): Promise<void>;
}

export interface CommandSettings {
  readonly endpoint: string;
  readonly table: string;
}

export function startCommand({ endpoint, table }: CommandSettings, ...argv: readonly string[]): RunningCommand {
  return spawnCommand({ LEASEHOLD_ENDPOINT: endpoint, LEASEHOLD_TABLE: table }, argv);
}

export function spawnCommand(environment: Readonly<Record<string, string>>, argv: readonly string[]): RunningCommand {
  // Excludes the machine's settings: credentials, a region or colour preferences must not decide a test.
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true', ...environment };
  const child = spawn(process.execPath, [PROGRAM, ...argv], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  const said = new EventEmitter();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    said.emit('more');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
    said.emit('more');
  });
  const ended = once(child, 'close').then(() => ({ exitCode: child.exitCode, signal: child.signalCode, out, err }));
  return {
    process: child,
    ended,
    out: () => out,
    err: () => err,
    async said(pattern) {
      while (!pattern.test(out) && !pattern.test(err)) {
        const end = await Promise.race([ended, once(said, 'more')]);
        if (!('exitCode' in end) || pattern.test(out) || pattern.test(err)) continue;
        throw new Error(
          `leasehold ${argv.join(' ')} ended with ${end.exitCode ?? end.signal} before it said ${String(pattern)}:\n${out}${err}`,
        );
      }
    },
  };
}

/** Runs the command as a process to its end, with nothing on its standard input. */
export async function endCommand(settings: CommandSettings, ...argv: readonly string[]): Promise<CommandEnd> {
  const command = startCommand(settings, ...argv);
  command.process.stdin?.end();
  return command.ended;
}

/**
 * Runs the command in this process: `test/smoke/commands.test.ts` covers the additional steps of a separate process.
 * For a command that is interrupted or killed, use `startCommand`; for a command that passes on its own streams, `endCommand`.
 */
export async function runCommand(
  { endpoint, table }: CommandSettings,
  ...argv: readonly string[]
): Promise<CommandEnd> {
  return runHere(['--endpoint', endpoint, '--table', table, ...argv]);
}

/** The same, for command lines that need no table or name their own. */
export async function runHere(
  argv: readonly string[],
  stdin = '',
  satellites: Satellites = SATELLITES,
  environment: Environment = {},
): Promise<CommandEnd> {
  const [out, err] = [new Page(), new Page()];
  const line = openCommandLine({
    environment: { PATH: process.env.PATH, ...environment },
    stdin: Readable.from([stdin]) as unknown as NodeJS.ReadStream,
    out: out as unknown as NodeJS.WriteStream,
    err: err as unknown as NodeJS.WriteStream,
    satellites,
  });
  const exitCode = await line.perform(argv);
  return { exitCode, signal: null, out: out.text, err: err.text };
}

/** A non-terminal stream that keeps its output. */
class Page extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
