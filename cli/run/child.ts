/**
 * The command that runs under the lease: in its own process group, so that its children end with it,
 * and Ctrl+C reaches only the wrapper, which passes it on and decides the order of shutdown.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants as fs, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { signalQuietly } from '../../local/bind-to-parent.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import type { Environment } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { CommandError, EXIT, exitCodeOfSignal } from '../exit.ts';

/** Poll interval of a process group that was asked to stop. */
const POLL_MS = 25;

/** Runs its operands after it has read a line. Exits if the wrapper ends first. */
const GATE = 'read -r go <&3 || exit 137; exec 3<&-; exec "$@"';

/**
 * The gate for variables with names that a shell would drop. It reads the whole environment from the pipe:
 * arguments show no value, and NODE_OPTIONS does not apply to the gate itself.
 * `env` gets no assignments, it only finds and runs the program.
 * Node ignores two signals, and a program inherits ignored signals. A handler resets them to the default.
 */
const ENVIRONMENT_GATE = `
let environment;
try {
  environment = JSON.parse(require('node:fs').readFileSync(3, 'utf8'));
} catch {
  process.exit(137);
}
for (const signal of ['SIGPIPE', 'SIGXFSZ']) process.on(signal, () => undefined);
process.execve('/usr/bin/env', ['env', '--', ...process.argv.slice(1)], environment);
`;

/** A shell's search path without a PATH. */
const DEFAULT_PATH = '/usr/bin:/bin';

/** The names that every shell passes on; dash drops the others. */
const SHELL_NAME = /^[A-Za-z_]\w*$/;

export class Child {
  readonly group: number;
  /** The command's exit code, as a shell would report it. */
  readonly ended: Promise<ExitCode>;

  private constructor(process: ChildProcess, group: number) {
    this.group = group;
    this.ended = new Promise((resolve) => {
      process.once('exit', (code, signal) => resolve(code ?? exitCodeOfSignal(constants.signals[signal ?? 'SIGKILL'])));
    });
  }

  /**
   * Starts the program behind a gate until `onSpawned` has returned. A wrapper that is killed before that leaves no process running;
   * if it is killed or frozen later, the guard already knows the process group.
   *
   * @param onSpawned receives the process group before the program's first instruction
   * @throws CommandError if the program could not be started
   */
  static async start(
    argv: readonly [string, ...string[]],
    environment: Environment,
    onSpawned: (group: number) => void,
  ): Promise<Child> {
    await ensureExecutable(argv[0], environment.PATH ?? DEFAULT_PATH);
    const { command, operands, env, opening } = gateFor(argv, environment);
    const child = spawn(command, operands, { stdio: ['inherit', 'inherit', 'inherit', 'pipe'], detached: true, env });
    await once(child, 'spawn');
    if (child.pid === undefined)
      throw new CommandError(EXIT.cannotExecute, `${argv[0]} was started without a process id`);
    const started = new Child(child, child.pid);
    const gate = child.stdio[3] as Writable;
    gate.on('error', () => undefined); // Killed from outside before it began: `ended` reports that.
    try {
      onSpawned(child.pid);
      gate.write(opening);
    } finally {
      gate.end();
    }
    return started;
  }

  /** Sends a signal to the command and all processes that it has started. Does nothing if they have ended. */
  signal(signal: NodeJS.Signals): void {
    signalQuietly(this.group, signal);
  }

  /** Ends the rest of the process group: requests its end, waits for the grace period, and kills it. */
  async stop(graceMs: number, clock: Clock): Promise<void> {
    if (!this.#isRunning()) return;
    this.signal('SIGTERM');
    this.signal('SIGCONT'); // Stopped processes hear nothing else.
    const deadline = clock.monotonic() + graceMs;
    while (this.#isRunning() && clock.monotonic() < deadline) await clock.sleep(POLL_MS);
    this.signal('SIGKILL');
  }

  #isRunning(): boolean {
    return signalQuietly(this.group, 0);
  }
}

interface Gate {
  readonly command: string;
  readonly operands: readonly string[];
  readonly env: Environment;
  /** Written to the pipe, it opens the gate. */
  readonly opening: string;
}

/** @throws CommandError when this Node cannot hand over a variable that a shell would drop */
function gateFor(argv: readonly string[], environment: Environment): Gate {
  const odd = Object.keys(environment).find((name) => environment[name] !== undefined && !SHELL_NAME.test(name));
  if (odd === undefined)
    return { command: '/bin/sh', operands: ['-c', GATE, 'sh', ...argv], env: environment, opening: 'go\n' };
  if (!('execve' in process))
    throw new CommandError(
      EXIT.cannotExecute,
      `the variable ${odd} requires Node 22.15 or later: update Node, or unset it`,
    );
  const operands = ['--no-warnings', '-e', ENVIRONMENT_GATE, '--', ...argv];
  return { command: process.execPath, operands, env: {}, opening: JSON.stringify(environment) };
}

/** A shell would report this in its own words, on the program's own output. */
async function ensureExecutable(command: string, searchPath: string): Promise<void> {
  const folders = command.includes('/') ? [''] : searchPath.split(path.delimiter).map((folder) => folder || '.');
  let refusal: string | undefined;
  for (const folder of folders) {
    const code = await refusalOf(folder === '' ? command : path.join(folder, command));
    if (code === undefined) return;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') refusal ??= code;
  }
  if (refusal === undefined) throw new CommandError(EXIT.commandNotFound, `there is no command ${command}`);
  throw new CommandError(EXIT.cannotExecute, `${command} could not be executed (${refusal})`);
}

async function refusalOf(file: string): Promise<string | undefined> {
  try {
    await access(file, fs.X_OK);
    return (await stat(file)).isFile() ? undefined : 'EACCES';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'EACCES';
  }
}
